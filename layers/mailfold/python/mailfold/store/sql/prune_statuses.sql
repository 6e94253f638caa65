-- prune_statuses: delete statuses that no event has touched since the cutoff, at most one batch.
with deleted as (
    delete from message_status
    where ctid = any(array(
        select ctid
        from message_status
        where received_at < cast(:cutoff as timestamptz)
        limit cast(:batch as integer)
        for update skip locked
    ))
    returning 1
)

select count(*), null from deleted
