-- erase_write_events: put rows without an address in the place of those that had it, unless they have changed since.
-- An id that holds the address changes too. If that id is there, the row came again after it was erased: one is enough.
with given as (
    select r.was, r.was ->> 'event_id' as old_id, n.*
    from jsonb_to_recordset(cast(:rows as jsonb)) as r (was jsonb, becomes jsonb, over jsonb)
    cross join lateral jsonb_populate_record(cast(null as email_events), r.becomes || r.over) as n
),

twins as (
    delete from email_events e
    using given g
    where e.event_id = g.old_id and g.event_id <> g.old_id
      and exists (select from email_events t where t.event_id = g.event_id)
    returning e.event_id
),

written as (
    update email_events e
    set (event_id, kind, scope, message_id, recipient, reason, payload) =
        (g.event_id, g.kind, g.scope, g.message_id, g.recipient, g.reason, g.payload)
    from given g
    where e.event_id = g.old_id and to_jsonb(e) = g.was and g.old_id not in (select event_id from twins)
    returning 1
)

select (select count(*) from written) + (select count(*) from twins)
