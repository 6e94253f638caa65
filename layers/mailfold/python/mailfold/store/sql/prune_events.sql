-- prune_events: delete the oldest events past the cutoff, about one batch, and add them to the totals of their days.
-- Needs one snapshot (repeatable read): what is counted is exactly what is deleted, or the batch fails and comes again.
-- The next batch begins at the newest of this one: before it lie only index entries of what is gone.
with bound as (
    -- Events of one request arrive at the same instant; they go together.
    select coalesce(
        (
            select received_at
            from email_events
            where received_at >= cast(:floor as timestamptz) and received_at < cast(:cutoff as timestamptz)
            order by received_at
            offset cast(:batch as integer) - 1
            limit 1
        ),
        cast(:cutoff as timestamptz) - interval '1 microsecond'
    ) as newest
),

counted as (
    select
        -- Days as instants; turning each event's time into a date would cost a sixth of the statement.
        date_bin('1 day', occurred_at, timestamptz '2000-01-01 00:00:00+00') as began_at,
        source,
        type,
        bounce_class,
        count(*) as events
    from email_events
    where received_at >= cast(:floor as timestamptz) and received_at <= (select newest from bound)
    group by 1, 2, 3, 4
),

deleted as (
    -- By range and without RETURNING: handing the rows on to be counted takes half as long as deleting them.
    delete from email_events
    where received_at >= cast(:floor as timestamptz) and received_at <= (select newest from bound)
),

frozen as (
    insert into daily_totals as t (day, source, type, bounce_class, events)
    select cast(began_at at time zone 'UTC' as date), source, type, coalesce(bounce_class, ''), sum(events)
    from counted
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (day, source, type, bounce_class) do update set events = t.events + excluded.events
)

select cast(coalesce(sum(events), 0) as bigint), (select newest from bound) from counted
