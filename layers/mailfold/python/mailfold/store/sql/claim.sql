-- claim: take the claim keys that nobody holds; a key held by an unfinished transaction is waited for.
insert into claims (claim_key, request_hash, source)
select claim_key, request_hash, source
from jsonb_to_recordset(cast(:claims as jsonb)) as c (claim_key text collate "C", request_hash text, source text)
order by claim_key
on conflict (claim_key) do nothing
returning claim_key
