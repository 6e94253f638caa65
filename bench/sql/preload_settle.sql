-- preload_settle: leave the store as a quiet week would, so that no measurement pays for the load.
-- Not beside another transaction: what that might still see could not be frozen.
vacuum (freeze, analyze) email_events, message_status;
checkpoint;
