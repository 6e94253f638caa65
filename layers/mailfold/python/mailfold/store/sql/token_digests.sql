-- token_digests: the digests of all tokens that are good now.
select token_hash
from api_tokens
where revoked_at is null and (expires_at is null or expires_at > cast(:now as timestamptz))
