-- preload_strip: take off what is cheaper to build once than to keep up for every row.
-- A load that a crash may lose needs no wait for the disk.
set synchronous_commit = off;
alter table email_events drop constraint email_events_pkey;
drop index email_events_message_id, email_events_recipient, email_events_received_at, email_events_trouble;
alter table message_status drop constraint message_status_pkey;
drop index message_status_received_at;
