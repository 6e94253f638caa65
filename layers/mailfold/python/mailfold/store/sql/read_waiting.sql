-- read_waiting: when the newest event arrived, and since when the oldest change waits to be published. For a bound token
-- the newest event of its sources within a day: no index leads to the newest of a source.
select jsonb_build_object(
    'newest_event_at', case
        when cast(:sources as jsonb) = 'null' then (select max(received_at) from email_events)
        else (
            select e.received_at from email_events e
            where may_see(cast(:sources as jsonb), e.source)
                and e.received_at > cast(:now as timestamptz) - interval '1 day'
            order by e.received_at desc limit 1
        )
    end,
    'oldest_unpublished_at', (
        select created_at from outbox where published_at is null order by outbox_id limit 1
    )
)
