-- read_check: for each of many addresses, in their order, the scopes in which it is suppressed, also if its person was erased.
with asked as (
    select array_agg(a.address order by a.place) as addresses
    from jsonb_array_elements_text(cast(:addresses as jsonb)) with ordinality as a (address, place)
)

select coalesce(s.stops, '[]')
from asked
cross join lateral unnest(asked.addresses, erased_forms(asked.addresses)) with ordinality as a (address, erased, place)
left join lateral (
    select jsonb_agg(jsonb_build_object('scope', s.scope, 'reason', s.reason, 'since', s.since) order by s.scope) as stops
    from suppressed s
    where s.address in (a.address, a.erased)
) s on true
order by a.place
