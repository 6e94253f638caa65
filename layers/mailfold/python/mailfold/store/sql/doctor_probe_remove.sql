-- doctor_probe_remove: take out the probes of these markers and those that an earlier run left behind.
with gone as (
    delete from email_events e
    where e.recipient = cast(:address as text)
        and (
            e.received_at < now() - interval '1 hour'
            or exists (
                select from jsonb_array_elements_text(cast(:markers as jsonb)) as m (marker)
                where position(m.marker in cast(e.payload as text)) > 0
            )
        )
    returning e.message_id, e.recipient
),

statuses as (
    delete from message_status s
    using gone g
    where s.message_id = g.message_id and s.recipient = g.recipient
),

-- What is not on the bus yet need not go there.
announced as (
    update outbox o
    set published_at = now()
    from gone g
    where o.published_at is null and o.key = g.message_id and o.body ->> 'recipient' = g.recipient
)

select count(*) as removed from gone
