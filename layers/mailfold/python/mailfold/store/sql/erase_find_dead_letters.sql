-- erase_find_dead_letters: look through the next rows of dead_letters for what may name an address.
with page as (
    select *
    from dead_letters
    where dead_letter_id > cast(cast(:after as jsonb) ->> 'dead_letter_id' as text)
    order by dead_letter_id
    limit cast(:page as integer)
)

select
    (select count(*) from page) as looked_at,
    (select jsonb_build_object('dead_letter_id', p.dead_letter_id) from page p order by p.dead_letter_id desc limit 1) as last,
    (
        select coalesce(jsonb_agg(cast(to_jsonb(p) as text)), '[]')
        from page p
        where cast(to_jsonb(p) as text) ~* cast(:near as text) and cast(to_jsonb(p) as text) ~* cast(:pattern as text)
    ) as found
