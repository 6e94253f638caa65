-- What an outside review of the store's security asked for (docs/security.md).

-- Functions that run as the owner.

-- Dead letters that failed an authenticity check.
alter table dead_letters add column unproven boolean not null default false;

-- Mailgun signs a token and nothing of the event: another event under a used token is not proven.
update dead_letters set unproven = true where provider = 'mailgun' and kind = 'claim_conflict';

-- A group is counted, with how many of it are unproven, from the index alone.
drop index dead_letters_group;
create index dead_letters_group on dead_letters (group_id, created_at, dead_letter_id) include (unproven);

-- How many contents of one claim are kept already.
create index dead_letters_unproven on dead_letters (claim_key) where unproven;

-- How many unproven payloads under this key were counted and not kept; null where there was none.
alter table webhook_inbox add column not_kept integer;

-- Tokens.

-- Erase.

-- Rows of some blocks of a table whose texts hold a pattern: the proof of an erasure reads tables that it is not told
-- of. Runs with the rights of the caller. Who gave an order is kept: that is a person of ours, not a recipient.
create function erase_search(table_name text, first_block bigint, next_block bigint, near text, pattern text)
returns table (looked_at bigint, found jsonb)
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
begin
    return query execute format(
        'select count(*), coalesce(jsonb_agg(page.line) filter ('
        ' where cast(page.line as text) ~* $3 and cast(page.line as text) ~* $4), ''[]'')'
        ' from (select to_jsonb(t) - ''{by_whom,manual_by}''::text[] as line from public.%I t'
        ' where t.ctid >= $1 and t.ctid < $2) as page',
        table_name
    ) using cast(format('(%s,0)', first_block) as tid), cast(format('(%s,0)', next_block) as tid), near, pattern;
end
$$;

revoke all on function erase_search(text, bigint, bigint, text, text) from public;

-- Records whose worker died.
