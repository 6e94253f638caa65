-- erase_write_claims: put rows without an address in the place of those that had it, unless they have changed since.
-- If the key without the address is taken, that claim was erased before: both are kept, the newer under a key of chance.
with given as (
    select r.was, n.*
    from jsonb_to_recordset(cast(:rows as jsonb)) as r (was jsonb, becomes jsonb, over jsonb)
    cross join lateral jsonb_populate_record(cast(null as claims), r.becomes || r.over) as n
),

written as (
    update claims w
    set
        claim_key = g.claim_key || case
            when g.claim_key <> w.claim_key and exists (select from claims t where t.claim_key = g.claim_key)
                then ':' || gen_random_uuid()
            else ''
        end,
        result = g.result
    from given g
    where w.claim_key = g.was ->> 'claim_key' and to_jsonb(w) = g.was
    returning 1
)

select count(*) from written
