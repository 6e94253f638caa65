-- prune_events: delete the oldest events past the cutoff, at most one batch, and add them to the totals of their days.
with doomed as (
    select event_id
    from email_events
    where received_at < cast(:cutoff as timestamptz)
    order by received_at
    limit cast(:batch as integer)
    for update skip locked
),

deleted as (
    delete from email_events e
    using doomed
    where e.event_id = doomed.event_id
    returning
        cast(e.occurred_at at time zone 'UTC' as date) as day,
        e.source,
        e.type,
        coalesce(e.bounce_class, '') as bounce_class
),

frozen as (
    insert into daily_totals as t (day, source, type, bounce_class, events)
    select day, source, type, bounce_class, count(*)
    from deleted
    group by day, source, type, bounce_class
    order by day, source, type, bounce_class
    on conflict (day, source, type, bounce_class) do update set events = t.events + excluded.events
)

select count(*) from deleted
