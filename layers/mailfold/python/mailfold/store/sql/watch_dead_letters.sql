-- watch_dead_letters: how many dead letters there are, and the age of the oldest in seconds.
select
    count(*) as dead_letters,
    coalesce(cast(extract(epoch from cast(:now as timestamptz) - min(created_at)) as bigint), 0) as oldest_seconds
from dead_letters
