-- erase_write_dead_letters: put rows without an address in the place of those that had it, unless they have changed since.
with given as (
    select r.was, n.reason, n.claim_key, n.headers, n.raw
    from jsonb_to_recordset(cast(:rows as jsonb)) as r (was jsonb, becomes jsonb, over jsonb)
    cross join lateral jsonb_populate_record(cast(null as dead_letters), r.becomes || r.over) as n
),

written as (
    update dead_letters d
    set (reason, claim_key, headers, raw) = (g.reason, g.claim_key, g.headers, g.raw)
    from given g
    where d.dead_letter_id = g.was ->> 'dead_letter_id' and to_jsonb(d) = g.was
    returning 1
)

select count(*) from written
