-- holders: what the claims that were already taken were taken for, and what came of it.
select claim_key, request_hash, result
from claims
where claim_key in (select jsonb_array_elements_text(cast(:claim_keys as jsonb)))
