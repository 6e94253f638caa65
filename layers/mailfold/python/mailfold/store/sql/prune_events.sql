-- prune_events: delete the oldest events past the cutoff, at most one batch, and add them to the totals of their days.
-- Needs one snapshot (repeatable read): what is counted is what was locked, and exactly that is deleted.
-- The next batch begins at the newest of this one: before it lie only index entries of what is gone.
with counted as (
    select
        -- Days as instants; turning each event's time into a date would cost a sixth of the statement.
        date_bin('1 day', occurred_at, timestamptz '2000-01-01 00:00:00+00') as began_at,
        source,
        type,
        bounce_class,
        count(*) as events,
        max(received_at) as newest,
        array_agg(ctid) as places
    from (
        select ctid, received_at, occurred_at, source, type, bounce_class
        from email_events
        where received_at >= cast(:floor as timestamptz) and received_at < cast(:cutoff as timestamptz)
        order by received_at
        limit cast(:batch as integer)
        for update skip locked
    ) as doomed
    group by 1, 2, 3, 4
),

deleted as (
    -- By place, as an array: a join on the key looks each event up once more, or reads the whole table for it.
    delete from email_events where ctid = any(array(select unnest(places) from counted))
),

frozen as (
    insert into daily_totals as t (day, source, type, bounce_class, events)
    select cast(began_at at time zone 'UTC' as date), source, type, coalesce(bounce_class, ''), sum(events)
    from counted
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (day, source, type, bounce_class) do update set events = t.events + excluded.events
)

select cast(coalesce(sum(events), 0) as bigint), max(newest) from counted
