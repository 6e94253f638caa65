-- token_add: let somebody ask. A name that is in use is left as it is, unless it is to be replaced.
insert into api_tokens as t (name, token_hash, scopes, sources, created_at, expires_at)
values (
    cast(:name as text), cast(:token_hash as text),
    array(select jsonb_array_elements_text(cast(:scopes as jsonb))),
    case when cast(:sources as jsonb) <> 'null'
        then array(select jsonb_array_elements_text(nullif(cast(:sources as jsonb), 'null')))
    end,
    cast(:now as timestamptz), cast(nullif(cast(:expires_at as text), '') as timestamptz)
)
on conflict (name) do update set
    (token_hash, scopes, sources, created_at, expires_at, revoked_at, last_used_at) =
        (excluded.token_hash, excluded.scopes, excluded.sources, excluded.created_at, excluded.expires_at, null, null)
where cast(:replace as boolean) or t.revoked_at is not null or t.expires_at <= cast(:now as timestamptz)
returning name
