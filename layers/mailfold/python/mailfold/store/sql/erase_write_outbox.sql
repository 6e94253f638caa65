-- erase_write_outbox: put rows without an address in the place of those that had it, unless they have changed since.
with given as (
    select r.was, n.*
    from jsonb_to_recordset(cast(:rows as jsonb)) as r (was jsonb, becomes jsonb, over jsonb)
    cross join lateral jsonb_populate_record(cast(null as outbox), r.becomes || r.over) as n
),

written as (
    update outbox o
    set (key, body) = (g.key, g.body)
    from given g
    where o.outbox_id = g.outbox_id and to_jsonb(o) = g.was
    returning 1
)

select count(*) from written
