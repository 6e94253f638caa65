-- watch_dead_letters: how many dead letters wait for somebody, and the age of the oldest in seconds.
-- A conflict does not: all its contents are folded, and what is kept of them is evidence. An unproven one does not
-- either: it rang as a conflict when it came, and an alarm that never ends would only press a person to fold it.
select
    count(*) as dead_letters,
    coalesce(cast(extract(epoch from cast(:now as timestamptz) - min(created_at)) as bigint), 0) as oldest_seconds
from dead_letters
where kind <> 'conflict' and not unproven
