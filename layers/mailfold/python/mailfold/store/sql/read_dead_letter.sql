-- read_dead_letter: one dead letter, and how many unproven payloads under its key were not kept; what was received only
-- where it is asked for and has no more bytes than an answer can hold.
select jsonb_build_object(
    'dead_letter_id', d.dead_letter_id, 'group_id', d.group_id, 'kind', d.kind, 'reason', d.reason,
    'source', d.source, 'provider', d.provider, 'claim_key', d.claim_key, 'received_at', d.received_at,
    'created_at', d.created_at, 'unproven', d.unproven,
    'not_kept', coalesce((select w.not_kept from claims w where w.claim_key = d.claim_key), 0)
) || case
    when cast(:raw as boolean) then jsonb_build_object(
        'headers', d.headers, 'raw_bytes', octet_length(d.raw),
        'raw', case when octet_length(d.raw) <= cast(:most_bytes as bigint) then d.raw end
    )
    else '{}'
end
from dead_letters d
where d.dead_letter_id = cast(:dead_letter_id as text) and may_see(cast(:sources as jsonb), d.source)
