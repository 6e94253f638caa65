-- complete: record what came of each claim, and keep what could not be folded.
with buried as (
    insert into dead_letters (
        dead_letter_id, kind, reason, source, provider, claim_key, headers, raw, received_at, unproven
    )
    select dead_letter_id, kind, reason, source, provider, claim_key, headers, raw, received_at, unproven
    from jsonb_to_recordset(cast(:dead_letters as jsonb)) as d (
        dead_letter_id text collate "C",
        kind           text,
        reason         text,
        source         text,
        provider       text,
        claim_key      text,
        headers        jsonb,
        raw            text,
        received_at    timestamptz,
        unproven       boolean
    )
    order by dead_letter_id
    on conflict (dead_letter_id) do nothing
)
update claims w
set result = c.result, completed_at = now()
from jsonb_to_recordset(cast(:claims as jsonb)) as c (claim_key text, result jsonb)
where w.claim_key = c.claim_key
