-- replay_neighbours: the events of a selection that some addresses have, wherever in it they stand.
select to_jsonb(e) || jsonb_build_object('seen', cast(e.xmin as text))
from email_events e
where recipient = any(array(select jsonb_array_elements_text(cast(:addresses as jsonb))))
  and (cast(:message_id as text) = '' or message_id = cast(:message_id as text))
  and (cast(:recipient as text) = '' or recipient = cast(:recipient as text))
  and (cast(:source as text) = '' or source = cast(:source as text))
  and received_at >= cast(:since as timestamptz) and received_at < cast(:until as timestamptz)
order by received_at, event_id
limit cast(:most as integer)
