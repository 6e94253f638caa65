-- watch_dead_letters: how many dead letters wait for somebody, and the age of the oldest in seconds.
-- A conflict does not: all its contents are folded, and what is kept of them is evidence.
select
    count(*) as dead_letters,
    coalesce(cast(extract(epoch from cast(:now as timestamptz) - min(created_at)) as bigint), 0) as oldest_seconds
from dead_letters
where kind <> 'conflict'
