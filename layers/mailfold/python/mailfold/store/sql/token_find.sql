-- token_find: the token of this digest, whatever has become of it since.
select name, token_hash, scopes, sources, expires_at, revoked_at, last_used_at
from api_tokens
where token_hash = cast(:token_hash as text)
