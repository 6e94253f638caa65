-- erase_find_events: look through the next rows of email_events for what may name an address.
-- In the order in which they came, which is about the order in which they lie.
with page as (
    select *
    from email_events
    where received_at >= cast(cast(:after as jsonb) ->> 'received_at' as timestamptz)
      and (received_at, event_id) > (
          cast(cast(:after as jsonb) ->> 'received_at' as timestamptz), cast(cast(:after as jsonb) ->> 'event_id' as text)
      )
    order by received_at, event_id
    limit cast(:page as integer)
)

select
    (select count(*) from page) as looked_at,
    (
        select jsonb_build_object('received_at', p.received_at, 'event_id', p.event_id)
        from page p
        order by p.received_at desc, p.event_id desc
        limit 1
    ) as last,
    (
        select coalesce(jsonb_agg(cast(to_jsonb(p) as text)), '[]')
        from page p
        where cast(to_jsonb(p) as text) ~* cast(:near as text) and cast(to_jsonb(p) as text) ~* cast(:pattern as text)
    ) as found
