-- token_revoke: from now on nobody may ask with this token.
update api_tokens set revoked_at = cast(:now as timestamptz)
where name = cast(:name as text) and revoked_at is null
returning name
