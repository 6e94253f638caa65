-- The security of the store (docs/security.md).

-- Functions that run as the owner.

-- Locks that guard no row (docs/decisions/0111). Each is a table of its own, because any role can take any advisory lock.

-- Held by one commit that announces at a time. No role has a right on it: the function announce takes it as the owner.
create table commit_gate ();

-- The one row is held by the run that publishes. Only publish has a right on it.
create table publish_turn (
    only_row boolean primary key default true check (only_row)
);

insert into publish_turn default values;

-- A commit that is under way holds the old lock: it ends before the new one is used.
lock table outbox_staging in exclusive mode;

-- Runs inside commit. Whoever has the lock draws its numbers, commits and lets go; it never waits for a client.
create or replace function announce() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    if pg_catalog.pg_trigger_depth() operator(pg_catalog.>) 1 then
        raise exception 'changes are announced by COMMIT: leave the constraint announce deferred' using errcode = '55000';
    end if;
    if new.changes operator(pg_catalog.<>) 'null' then
        -- While constraints are immediate, this row fires at once, one level deeper, and is refused there. What is
        -- declared WITH HOLD runs after this function, inside commit, for as long as it likes. Both would keep the lock.
        insert into public.outbox_staging (changes) values ('null');
        if exists (select from pg_catalog.pg_cursors where is_holdable) then
            raise exception 'changes are announced by COMMIT: close cursors WITH HOLD first' using errcode = '55000';
        end if;
        lock table public.commit_gate in share update exclusive mode;
        insert into public.outbox (topic, key, body)
        select change.topic, change.key, change.body
        from rows from (
            pg_catalog.jsonb_to_recordset(new.changes)
                as (topic pg_catalog.text, key pg_catalog.text, body pg_catalog.jsonb)
        ) with ordinality as change (topic, key, body, place)
        order by change.place;
    end if;
    delete from public.outbox_staging a where a.staging_id operator(pg_catalog.=) new.staging_id;
    return null;
end
$$;

alter function erased_form(text) set search_path = pg_catalog, public, pg_temp;
alter function erased_forms(text[]) set search_path = pg_catalog, public, pg_temp;

-- Prune may delete what is published and past its window, and not hold the table: an announcement waits for no client.
create function prune_outbox(cutoff timestamptz, batch integer) returns bigint
language sql volatile security definer set search_path = pg_catalog, public, pg_temp
begin atomic
    with deleted as (
        delete from public.outbox
        where ctid = any (array(
            select o.ctid
            from public.outbox o
            where o.published_at < cutoff
            limit batch
            for update skip locked
        ))
        returning 1
    )

    select count(*) from deleted;
end;

revoke all on function prune_outbox(timestamptz, integer) from public;

-- Rights that are taken back; roles.sql only gives.
do $$
declare
    taken text;
begin
    foreach taken in array array[
        'delete, update (published_at) on outbox from mailfold_prune',
        'update on outbox from mailfold_operate',
        'mailfold_operate from mailfold_query'
    ] loop
        if exists (select from pg_roles where rolname = split_part(taken, ' from ', 2)) then
            execute 'revoke ' || taken;
        end if;
    end loop;
end
$$;

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
alter table claims add column not_kept integer;

-- Tokens.

-- What a token may see; null for what every source said. The scopes of a token that is there stay as they are: read no
-- longer includes the raw payloads, which need the scope raw.
alter table api_tokens add column sources text[];

-- Whether a token that is bound to sources may see what a source said; null in JSON is a token that is not bound.
create function may_see(sources jsonb, source text) returns boolean
language sql immutable parallel safe
return sources = 'null' or sources ? source;

-- The status of a message for a recipient as the sources of a token tell it; current_status is what all of them tell.
create function status_told(sources jsonb, told_message text, told_recipient text)
returns table (type text, bounce_class text, first_at timestamptz, last_at timestamptz)
language sql stable parallel safe
begin atomic
    select c.type, c.bounce_class, c.first_at, c.last_at
    from current_status c
    where sources = 'null' and c.message_id = told_message and c.recipient = told_recipient
    union all
    (
        select e.type, e.bounce_class, min(e.occurred_at), max(e.occurred_at)
        from email_events e
        join status_ranks r on r.type = e.type and r.bounce_class = coalesce(e.bounce_class, '')
        where sources <> 'null' and sources ? e.source
            and e.message_id = told_message and e.recipient = told_recipient
        group by e.type, e.bounce_class, r.rank
        order by r.rank desc
        limit 1
    );
end;

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
