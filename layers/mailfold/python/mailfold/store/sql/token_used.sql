-- token_used: note that a token is in use.
update api_tokens set last_used_at = cast(:now as timestamptz) where name = cast(:name as text)
