-- erase_write_statuses: give rows to an erased form and join them with what it has, as it is by now.
with given as (
    select r.was, n.*
    from jsonb_to_recordset(cast(:rows as jsonb)) as r (was jsonb, becomes jsonb, over jsonb)
    cross join lateral jsonb_populate_record(cast(null as message_status), r.becomes || r.over) as n
),

gone as (
    delete from message_status s
    using given g
    where s.message_id = g.was ->> 'message_id' and s.recipient = g.was ->> 'recipient'
      and s.type = g.was ->> 'type' and s.bounce_class = g.was ->> 'bounce_class'
    returning g.message_id, g.recipient, g.type, g.bounce_class, s.first_at, s.last_at, s.received_at
),

joined as (
    insert into message_status as s (message_id, recipient, type, bounce_class, first_at, last_at, received_at)
    select message_id, recipient, type, bounce_class, min(first_at), max(last_at), max(received_at)
    from gone
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (message_id, recipient, type, bounce_class) do update set
        first_at = least(s.first_at, excluded.first_at),
        last_at = greatest(s.last_at, excluded.last_at),
        received_at = greatest(s.received_at, excluded.received_at)
)

select count(*) from gone
