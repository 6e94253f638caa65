-- doctor_probe_find: the stored probes among these markers, each with its type.
select jsonb_build_object('marker', m.marker, 'event_id', e.event_id, 'type', e.type, 'source', e.source) as probe
from email_events e
join jsonb_array_elements_text(cast(:markers as jsonb)) as m (marker)
    on position(m.marker in cast(e.payload as text)) > 0
where e.recipient = cast(:address as text)
