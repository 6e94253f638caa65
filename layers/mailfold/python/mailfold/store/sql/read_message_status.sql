-- read_message_status: the status of one message for each recipient.
select to_jsonb(s) from current_status s where s.message_id = cast(:message_id as text) order by s.recipient
