-- erased_as: the erased forms of the recipients of these events, where an event is stored under it already.
select e.event_id, e.recipient
from jsonb_to_recordset(cast(:events as jsonb)) as i (event_id text, recipient text)
join email_events e on e.event_id = i.event_id
where e.recipient like 'erased:%' and e.recipient = erased_form(i.recipient)
