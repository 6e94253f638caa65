-- token_list: who may ask, without the digests.
select to_jsonb(t) - 'token_hash' from api_tokens t order by t.name
