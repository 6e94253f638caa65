-- publish_age: for how many seconds the oldest change has been waiting.
select coalesce((
    select cast(greatest(extract(epoch from clock_timestamp() - created_at), 0) as integer)
    from outbox
    where published_at is null
    order by outbox_id
    limit 1
), 0)
