-- prune_outbox: delete changes published before the cutoff, at most one batch.
with deleted as (
    delete from outbox
    where ctid = any(array(
        select ctid
        from outbox
        where published_at < cast(:cutoff as timestamptz)
        limit cast(:batch as integer)
        for update skip locked
    ))
    returning 1
)

select count(*), null from deleted
