-- doctor_sources: when each source last had an event, within the last day.
select jsonb_build_object('source', s.source, 'last_at', e.received_at) as seen
from jsonb_array_elements_text(cast(:sources as jsonb)) as s (source)
left join lateral (
    select received_at
    from email_events
    where source = s.source and received_at > now() - interval '1 day'
    order by received_at desc
    limit 1
) e on true
order by s.source
