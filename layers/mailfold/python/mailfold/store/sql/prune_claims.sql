-- prune_claims: delete claims taken before the cutoff, at most one batch.
with deleted as (
    delete from claims
    where ctid = any(array(
        select ctid
        from claims
        where created_at < cast(:cutoff as timestamptz)
        limit cast(:batch as integer)
        for update skip locked
    ))
    returning 1
)

select count(*), null from deleted
