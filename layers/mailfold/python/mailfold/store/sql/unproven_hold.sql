-- unproven_hold: hold these claims to the end of the transaction, so that what is kept under each is counted by one
-- transaction at a time.
select claim_key
from claims
where claim_key in (select jsonb_array_elements_text(cast(:claim_keys as jsonb)))
order by claim_key
for update
