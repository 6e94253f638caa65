-- read_event_series: events by kind and by minute, hour or day of their arrival, from the index alone.
-- One bucket at a time: grouping by a time that is made of the row would sort all of them.
select jsonb_build_object('at', b.at, 'type', e.type, 'bounce_class', e.bounce_class, 'events', e.events)
from generate_series(
    cast(:since as timestamptz), cast(:until as timestamptz) - interval '1 microsecond',
    cast(cast(:step as text) as interval), 'UTC'
) as b (at)
cross join lateral (
    select type, bounce_class, count(*) as events
    from email_events
    where received_at >= b.at and received_at < b.at + cast(cast(:step as text) as interval)
        and received_at < cast(:until as timestamptz)
        and may_see(cast(:sources as jsonb), source)
        and (cast(:source as text) = '' or source = cast(:source as text))
    group by type, bounce_class
) e
order by b.at, e.type, e.bounce_class
