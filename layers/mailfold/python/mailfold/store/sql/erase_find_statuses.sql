-- erase_find_statuses: look through the next rows of message_status for what may name an address.
with page as (
    select *
    from message_status
    where (message_id, recipient, type, bounce_class) > (
        cast(cast(:after as jsonb) ->> 'message_id' as text), cast(cast(:after as jsonb) ->> 'recipient' as text),
        cast(cast(:after as jsonb) ->> 'type' as text), cast(cast(:after as jsonb) ->> 'bounce_class' as text)
    )
    order by message_id, recipient, type, bounce_class
    limit cast(:page as integer)
)

select
    (select count(*) from page) as looked_at,
    (
        select jsonb_build_object(
            'message_id', p.message_id, 'recipient', p.recipient, 'type', p.type, 'bounce_class', p.bounce_class
        )
        from page p
        order by p.message_id desc, p.recipient desc, p.type desc, p.bounce_class desc
        limit 1
    ) as last,
    (
        select coalesce(jsonb_agg(cast(to_jsonb(p) as text)), '[]')
        from page p
        where cast(to_jsonb(p) as text) ~* cast(:near as text) and cast(to_jsonb(p) as text) ~* cast(:pattern as text)
    ) as found
