-- prune_outbox: delete changes published before the cutoff, at most one batch.
select prune_outbox(cast(:cutoff as timestamptz), cast(:batch as integer)), null
