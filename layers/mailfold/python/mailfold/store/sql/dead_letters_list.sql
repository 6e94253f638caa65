-- dead_letters_list: the newest dead letters of one group or of all, without their raw.
select jsonb_build_object(
    'dead_letter_id', dead_letter_id, 'group_id', group_id, 'source', source, 'kind', kind,
    'reason', left((regexp_match(rtrim(reason, E'\n'), '[^\n]*$'))[1], 200),
    'received_at', received_at, 'created_at', created_at, 'unproven', unproven,
    'not_kept', coalesce((select w.not_kept from claims w where w.claim_key = dead_letters.claim_key), 0)
)
from dead_letters
where cast(:group_id as text) in ('', group_id)
    and (created_at, dead_letter_id) < (cast(:before as timestamptz), cast(:before_id as text) collate "C")
order by created_at desc, dead_letter_id desc
limit cast(:most as integer)
