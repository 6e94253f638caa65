-- read_waiting: when the newest event arrived, and since when the oldest change waits to be published.
select jsonb_build_object(
    'newest_event_at', (select max(received_at) from email_events),
    'oldest_unpublished_at', (
        select created_at from outbox where published_at is null order by outbox_id limit 1
    )
)
