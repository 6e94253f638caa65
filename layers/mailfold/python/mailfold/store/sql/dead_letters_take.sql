-- dead_letters_take: hold these dead letters to the end of the transaction, but for those that somebody else holds.
select
    dead_letter_id, kind, reason, source, provider, claim_key, headers, raw, received_at,
    -- Headers are kept since this migration: none in an older dead letter does not mean that there were none.
    created_at >= (select applied_at from schema_migrations where version = 3) as headers_kept,
    unproven
from dead_letters
where dead_letter_id in (select jsonb_array_elements_text(cast(:dead_letter_ids as jsonb)))
order by dead_letter_id
for update of dead_letters skip locked
