-- erase_write_suppressions: take an address out of the evidence, unless a row has changed since it was read.
with given as (
    select r.was, n.*
    from jsonb_to_recordset(cast(:rows as jsonb)) as r (was jsonb, becomes jsonb, over jsonb)
    cross join lateral jsonb_populate_record(cast(null as suppressions), r.becomes || r.over) as n
),

written as (
    update suppressions s
    set
        (first_suppress_event_id, first_suppress, last_suppress_event_id, last_suppress, last_lift_event_id, last_lift) = (
            g.first_suppress_event_id, g.first_suppress, g.last_suppress_event_id, g.last_suppress, g.last_lift_event_id, g.last_lift
        ),
        (soft_suppress, manual_reason) = (g.soft_suppress, g.manual_reason)
    from given g
    where s.address = g.was ->> 'address' and s.scope = g.was ->> 'scope' and to_jsonb(s) - 'manual_by' = g.was
    returning s.address, s.scope, g.address as new_address, g.scope as new_scope
)

select coalesce(jsonb_agg(to_jsonb(written)), '[]') from written
