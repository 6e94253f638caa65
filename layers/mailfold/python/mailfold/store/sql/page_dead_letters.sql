-- page_dead_letters: one page of the letters of one group, the newest first, without their raw.
select jsonb_build_object(
    'dead_letter_id', d.dead_letter_id, 'group_id', d.group_id, 'kind', d.kind, 'reason', d.reason,
    'source', d.source, 'provider', d.provider, 'received_at', d.received_at, 'created_at', d.created_at,
    'unproven', d.unproven
)
from dead_letters d
where d.group_id = cast(:group_id as text)
    and (d.created_at, d.dead_letter_id) < (cast(:at as timestamptz), cast(:id as text))
order by d.created_at desc, d.dead_letter_id desc
limit cast(:most as integer)
