-- preload_settle: leave the store as a quiet week would, so that no measurement pays for the load.
-- Not beside another transaction: what that might still see could not be frozen.
vacuum (freeze, analyze) email_events, message_status;
checkpoint;
-- The indexes were written past the buffers: in a store that is used, they are in memory.
create extension if not exists pg_prewarm;
select sum(pg_prewarm(oid)) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'i');
