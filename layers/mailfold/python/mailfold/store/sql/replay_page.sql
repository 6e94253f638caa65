-- replay_page: the next stored events of a selection, in the order in which they were received.
-- `seen` names the version of the row that is read: what somebody changes meanwhile is not written over.
select to_jsonb(e) || jsonb_build_object('seen', cast(e.xmin as text))
from email_events e
where (cast(:message_id as text) = '' or message_id = cast(:message_id as text))
  and (cast(:recipient as text) = '' or recipient = cast(:recipient as text))
  and (cast(:source as text) = '' or source = cast(:source as text))
  and received_at >= cast(:since as timestamptz) and received_at < cast(:until as timestamptz)
  and (received_at, event_id) > (cast(:after_at as timestamptz), cast(:after_id as text))
order by received_at, event_id
limit cast(:most as integer)
