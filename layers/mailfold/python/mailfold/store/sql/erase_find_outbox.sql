-- erase_find_outbox: look through the next rows of outbox for what may name an address.
with page as (
    select *
    from outbox
    where outbox_id > cast(cast(:after as jsonb) ->> 'outbox_id' as bigint)
    order by outbox_id
    limit cast(:page as integer)
)

select
    (select count(*) from page) as looked_at,
    (select jsonb_build_object('outbox_id', p.outbox_id) from page p order by p.outbox_id desc limit 1) as last,
    (
        select coalesce(jsonb_agg(cast(to_jsonb(p) as text)), '[]')
        from page p
        where cast(to_jsonb(p) as text) ~* cast(:near as text) and cast(to_jsonb(p) as text) ~* cast(:pattern as text)
    ) as found
