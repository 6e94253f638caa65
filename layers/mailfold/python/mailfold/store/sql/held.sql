-- held: the fingerprints under which these events are stored, where that is not the one given.
select e.event_id, e.fingerprint
from jsonb_to_recordset(cast(:events as jsonb)) as i (event_id text, fingerprint text)
join email_events e on e.event_id = i.event_id and e.fingerprint <> i.fingerprint
