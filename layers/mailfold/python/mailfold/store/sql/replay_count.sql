-- replay_count: how many stored events a selection holds.
select count(*)
from email_events
where (cast(:message_id as text) = '' or message_id = cast(:message_id as text))
  and (cast(:recipient as text) = '' or recipient = cast(:recipient as text))
  and (cast(:source as text) = '' or source = cast(:source as text))
  and received_at >= cast(:since as timestamptz) and received_at < cast(:until as timestamptz)
