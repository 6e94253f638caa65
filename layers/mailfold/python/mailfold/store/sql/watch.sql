-- watch: what each source said in the last day and hour, and in the same hour of each of the seven days before.
-- Only rows of these hours are read, by the index on received_at; none of what is read names a recipient.
with moments as (
    select
        cast(:now as timestamptz) as now_at,
        cast(:now as timestamptz) - interval '1 hour' as hour_at,
        cast(:now as timestamptz) - interval '24 hours' as day_at
),

recent as (
    select
        e.source,
        max(e.received_at) as last_at,
        count(*) filter (where e.received_at > m.hour_at) as hour_events,
        count(*) filter (where e.received_at > m.hour_at and e.type = 'processed') as hour_processed,
        count(*) filter (where e.received_at > m.hour_at and e.type in ('delivered', 'bounced')) as hour_settled,
        count(*) filter (where e.received_at > m.hour_at and e.bounce_class = 'hard') as hour_bounced,
        count(*) filter (where e.received_at > m.hour_at and e.type = 'complained') as hour_complained,
        count(*) filter (where e.type = 'processed') as day_processed,
        count(*) filter (where e.type in ('delivered', 'bounced')) as day_settled,
        count(*) filter (where e.bounce_class = 'hard') as day_bounced,
        count(*) filter (where e.type = 'complained') as day_complained
    from moments m
    join email_events e on e.received_at > m.day_at and e.received_at <= m.now_at
    group by e.source
),

same_hours as (
    select
        e.source,
        d.days,
        count(*) as events
    from moments m
    cross join generate_series(1, 7) as d (days)
    join email_events e
        on e.received_at > m.hour_at - make_interval(hours => 24 * d.days)
        and e.received_at <= m.now_at - make_interval(hours => 24 * d.days)
    group by e.source, d.days
),

usual as (
    select
        source,
        cast(sum(events) as bigint) as week_events,
        -- The fourth of seven; a day without events has no row here, and comes last.
        (array_agg(events order by events desc))[4] as median_events,
        cast(sum(events) filter (where days = 7) as bigint) as weekday_events
    from same_hours
    group by source
)

select
    source,
    cast(extract(epoch from m.now_at - r.last_at) as integer) as silent_seconds,
    coalesce(r.hour_events, 0) as hour_events,
    -- Not every provider tells of a message that it took: then what became of it must do.
    coalesce(greatest(r.hour_processed, r.hour_settled), 0) as hour_sends,
    coalesce(r.hour_bounced, 0) as hour_bounced,
    coalesce(r.hour_complained, 0) as hour_complained,
    coalesce(greatest(r.day_processed, r.day_settled), 0) as day_sends,
    coalesce(r.day_bounced, 0) as day_bounced,
    coalesce(r.day_complained, 0) as day_complained,
    coalesce(u.week_events, 0) as week_events,
    coalesce(u.median_events, 0) as median_events,
    coalesce(u.weekday_events, 0) as weekday_events
from moments m
cross join recent r
full join usual u using (source)
