-- dead_letters_show: one dead letter, whole, and how many unproven payloads under its key were counted and not kept.
select to_jsonb(d) || jsonb_build_object(
    'not_kept', coalesce((select w.not_kept from claims w where w.claim_key = d.claim_key), 0)
)
from dead_letters d where d.dead_letter_id = cast(:dead_letter_id as text)
