-- erase_find_suppressions: look through the next rows of suppressions for what may name an address.
-- Who decided manually is kept: that is a person of ours, not a recipient.
with page as (
    select *
    from suppressions
    where (address, scope) > (
        cast(cast(:after as jsonb) ->> 'address' as text), cast(cast(:after as jsonb) ->> 'scope' as text)
    )
    order by address, scope
    limit cast(:page as integer)
)

select
    (select count(*) from page) as looked_at,
    (
        select jsonb_build_object('address', p.address, 'scope', p.scope)
        from page p
        order by p.address desc, p.scope desc
        limit 1
    ) as last,
    (
        select coalesce(jsonb_agg(cast(to_jsonb(p) - 'manual_by' as text)), '[]')
        from page p
        where cast(to_jsonb(p) - 'manual_by' as text) ~* cast(:near as text) and cast(to_jsonb(p) - 'manual_by' as text) ~* cast(:pattern as text)
    ) as found
