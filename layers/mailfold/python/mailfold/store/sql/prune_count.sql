-- prune_count: how many rows of each table are past its window, at most so many each, and the oldest of those counted.
select jsonb_build_object('table', "table", 'rows', counted.rows, 'oldest_at', counted.oldest_at)
from (
    select 1 as place, 'events' as "table", p.* from (
        select count(*) as rows, min(at) as oldest_at from (
            select received_at as at from email_events
            where received_at < cast(:events as timestamptz)
            order by received_at limit cast(:most as integer)
        ) as past
    ) as p
    union all
    select 2, 'statuses', p.* from (
        select count(*), min(at) from (
            select received_at as at from message_status
            where received_at < cast(:statuses as timestamptz) limit cast(:most as integer)
        ) as past
    ) as p
    union all
    select 3, 'claims', p.* from (
        select count(*), min(at) from (
            select created_at as at from claims
            where created_at < cast(:claims as timestamptz)
            order by created_at limit cast(:most as integer)
        ) as past
    ) as p
    union all
    select 4, 'outbox', p.* from (
        select count(*), min(at) from (
            select published_at as at from outbox
            where published_at < cast(:outbox as timestamptz) limit cast(:most as integer)
        ) as past
    ) as p
    union all
    select 5, 'dead_letters', p.* from (
        select count(*), min(at) from (
            select created_at as at from dead_letters
            where created_at < cast(:dead_letters as timestamptz) limit cast(:most as integer)
        ) as past
    ) as p
) as counted
order by place
