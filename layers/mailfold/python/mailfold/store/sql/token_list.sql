-- token_list: who may ask, without the digests.
select jsonb_build_object(
    'name', name, 'scopes', scopes, 'sources', sources, 'created_at', created_at, 'expires_at', expires_at,
    'revoked_at', revoked_at, 'last_used_at', last_used_at
)
from api_tokens
order by name
