-- prune_dead_letters: delete dead letters kept since before the cutoff, at most one batch.
with deleted as (
    delete from dead_letters
    where ctid = any(array(
        select ctid
        from dead_letters
        where created_at < cast(:cutoff as timestamptz)
        limit cast(:batch as integer)
        for update skip locked
    ))
    returning 1
)

select count(*), null from deleted
