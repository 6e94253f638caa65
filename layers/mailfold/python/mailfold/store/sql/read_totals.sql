-- read_totals: events by day, source and kind: what is stored and what prune has frozen, added up.
select jsonb_build_object('day', day, 'source', source, 'type', type, 'bounce_class', nullif(bounce_class, ''), 'events', sum(events))
from (
    select day, source, type, bounce_class, events from daily_totals
    where day > cast(cast(:now as timestamptz) at time zone 'UTC' as date) - cast(:days as integer)
        and may_see(cast(:sources as jsonb), source)
    union all
    select cast(occurred_at at time zone 'UTC' as date), source, type, coalesce(bounce_class, ''), count(*)
    from email_events
    where cast(occurred_at at time zone 'UTC' as date)
        > cast(cast(:now as timestamptz) at time zone 'UTC' as date) - cast(:days as integer)
        and may_see(cast(:sources as jsonb), source)
        -- Nothing is received before it happens; a day is left for clocks that differ. It lets the index tell.
        and received_at > cast(:now as timestamptz) - make_interval(days => cast(:days as integer) + 1)
    group by 1, 2, 3, 4
) as counted
group by day, source, type, bounce_class
order by day desc, source, type, bounce_class
