-- erase_find_claims: look through the next rows of claims for what may name an address.
with page as (
    select *
    from claims
    where claim_key > cast(cast(:after as jsonb) ->> 'claim_key' as text)
    order by claim_key
    limit cast(:page as integer)
)

select
    (select count(*) from page) as looked_at,
    (select jsonb_build_object('claim_key', p.claim_key) from page p order by p.claim_key desc limit 1) as last,
    (
        select coalesce(jsonb_agg(cast(to_jsonb(p) as text)), '[]')
        from page p
        where cast(to_jsonb(p) as text) ~* cast(:near as text) and cast(to_jsonb(p) as text) ~* cast(:pattern as text)
    ) as found
