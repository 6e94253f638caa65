-- The schema as all migrations together make it; a test proves it.

-- One row per provider event. Ids compare byte by byte, as Python does, so that ties break alike in both folds.
create table email_events (
    event_id     text collate "C" primary key,
    fingerprint  text        not null,
    source       text        not null,
    provider     text        not null,
    kind         text        not null,
    type         text        not null,
    bounce_class text,
    effect       text check (effect in ('suppress', 'lift')),
    scope        text        not null,
    message_id   text,
    recipient    text,
    occurred_at  timestamptz not null,
    received_at  timestamptz not null,
    reason       text,
    machine      boolean     not null,
    payload      jsonb       not null,
    -- A bounce that the message caused never counts against the address.
    message_fault boolean not null default false
);

-- The timeline of a message.
create index email_events_message_id on email_events (message_id) where message_id is not null;
-- The history of an address, for the sweep and for whoever asks.
create index email_events_recipient on email_events (recipient, occurred_at) where recipient is not null;
-- Prune takes the oldest first, a batch at a time. What else is in it lets the counts of the last hours and days be
-- read without the events themselves, which are ten times as large.
create index email_events_received_at on email_events (received_at) include (occurred_at, source, type, bounce_class);
-- The newest trouble. Rare among the events, so that it costs little; the other types are found soon enough without it.
create index email_events_trouble on email_events (type, received_at)
where type in ('deferred', 'bounced', 'dropped', 'complained', 'unsubscribed');

-- When a message first and last had one kind of event for one recipient.
create table message_status (
    message_id   text collate "C" not null,
    recipient    text collate "C" not null,
    type         text        not null,
    bounce_class text        not null default '',
    first_at     timestamptz not null,
    last_at      timestamptz not null,
    received_at  timestamptz not null,
    primary key (message_id, recipient, type, bounce_class)
);

-- BRIN, because rows are updated in place only while no B-tree holds a column that changes.
create index message_status_received_at on message_status using brin (received_at) with (pages_per_range = 32);

-- Why an address is suppressed in one scope, with evidence that outlives the events.
create table suppressions (
    address             text collate "C" not null,
    scope               text collate "C" not null,
    first_suppress_at       timestamptz,
    first_suppress_event_id text collate "C",
    first_suppress          jsonb,
    last_suppress_at        timestamptz,
    last_suppress_event_id  text collate "C",
    last_suppress           jsonb,
    last_lift_at        timestamptz,
    last_lift_event_id  text collate "C",
    last_lift           jsonb,
    soft_suppress_at        timestamptz,
    soft_suppress           jsonb,
    manual_effect       text check (manual_effect in ('suppress', 'lift')),
    manual_at           timestamptz,
    manual_by           text,
    manual_reason       text,
    primary key (address, scope)
);

-- The newest stops.
create index suppressions_since on suppressions (
    coalesce(least(first_suppress_at, soft_suppress_at, case when manual_effect = 'suppress' then manual_at end), '-infinity'),
    address,
    scope
);

-- The claims. A row without a result exists only inside the transaction that will complete it.
create table claims (
    claim_key    text collate "C" primary key,
    request_hash text        not null,
    source       text        not null,
    result       jsonb,
    created_at   timestamptz not null default now(),
    completed_at timestamptz,
    -- How many unproven payloads under this key were counted and not kept; null where there was none.
    not_kept     integer
);

create index claims_created_at on claims (created_at);

-- What could not be folded, with its reason. The id is a digest of the input: a redelivery adds nothing.
create table dead_letters (
    dead_letter_id text collate "C" primary key,
    kind           text        not null,
    reason         text        not null,
    source         text,
    provider       text,
    claim_key      text,
    raw            text        not null,
    received_at    timestamptz not null,
    created_at     timestamptz not null default now(),
    -- Some adapters read an event's id from the request's headers.
    headers        jsonb       not null default '{}',
    -- Letters that failed in the same way share a group: source, kind and reason, whatever numbers the reason holds.
    group_id       text collate "C" not null generated always as (
        left(md5(coalesce(source, '') || E'\x1f' || kind || E'\x1f' || regexp_replace(reason, '\d+', '#', 'g')), 12)
    ) stored,
    -- True where the content failed an authenticity check: only a person who names it may fold it.
    unproven       boolean     not null default false
);

create index dead_letters_group on dead_letters (group_id, created_at, dead_letter_id) include (unproven);
-- How many contents of one claim are kept already.
create index dead_letters_unproven on dead_letters (claim_key) where unproven;

-- Changes for the bus, numbered in the order in which their transactions committed.
create table outbox (
    outbox_id    bigint generated always as identity primary key,
    topic        text        not null,
    key          text        not null,
    body         jsonb       not null,
    created_at   timestamptz not null default now(),
    published_at timestamptz
);

create index outbox_unpublished on outbox (outbox_id) where published_at is null;

-- What a transaction is about to announce: written and deleted inside it, so nobody ever sees a row and none need
-- outlive a crash.
create unlogged table outbox_staging (
    staging_id bigint generated always as identity primary key,
    changes         jsonb not null
);

-- Locks that guard no row (docs/decisions/0111). Each is a table of its own, because any role can take any advisory lock.

-- Held by one commit that announces at a time. No role has a right on it: the function announce takes it as the owner.
create table commit_gate ();

-- The one row is held by the run that publishes. Only publish has a right on it.
create table publish_turn (
    only_row boolean primary key default true check (only_row)
);

insert into publish_turn default values;

-- Runs inside commit. Whoever has the lock draws its numbers, commits and lets go; it never waits for a client.
create function announce() returns trigger
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

revoke all on function announce() from public;

create constraint trigger announce after insert on outbox_staging
deferrable initially deferred for each row execute function announce();

-- How many events of a day prune has deleted; added to what is still stored, the day's total.
create table daily_totals (
    day          date   not null,
    source       text   not null,
    type         text   not null,
    bounce_class text   not null default '',
    events       bigint not null,
    primary key (day, source, type, bounce_class)
);

-- The rank of each kind of event; mailfold/fold.py holds the same table with the reasons.
create table status_ranks (
    type         text not null,
    bounce_class text not null default '',
    rank         integer not null unique,
    primary key (type, bounce_class)
);

insert into status_ranks (type, bounce_class, rank) values
    ('processed', '', 10),
    ('deferred', '', 20),
    ('bounced', 'unknown', 30),
    ('bounced', 'soft', 31),
    ('delivered', '', 40),
    ('opened', '', 50),
    ('clicked', '', 60),
    ('unsubscribed', '', 70),
    ('dropped', '', 80),
    ('bounced', 'hard', 90),
    ('complained', '', 100);

-- The status of each message for each recipient: the highest rank it ever had.
create view current_status as
select distinct on (s.message_id, s.recipient)
    s.message_id,
    s.recipient,
    s.type,
    nullif(s.bounce_class, '') as bounce_class,
    s.first_at,
    s.last_at
from message_status s
join status_ranks r using (type, bounce_class)
order by s.message_id, s.recipient, r.rank desc;

-- Whether an address is suppressed. A manual suppression holds until a manual lift; a manual lift lifts what came before it.
-- At the same instant a stop outweighs a lift, being safer.
create function is_suppressed(s suppressions) returns boolean
language sql immutable parallel safe
return coalesce(s.manual_effect = 'suppress', false) or coalesce(
    greatest(s.last_suppress_at, s.soft_suppress_at) >= coalesce(
        greatest(s.last_lift_at, case when s.manual_effect = 'lift' then s.manual_at end), '-infinity'
    ),
    false
);

-- The addresses that must not be mailed now.
create view suppressed as
select
    s.address,
    s.scope,
    least(s.first_suppress_at, s.soft_suppress_at, case when s.manual_effect = 'suppress' then s.manual_at end) as since,
    case
        when s.manual_effect = 'suppress' then 'manual'
        when s.last_suppress_at is null or s.soft_suppress_at > s.last_suppress_at then 'soft_bounces'
        else s.first_suppress ->> 'type'
    end as reason,
    case
        when s.manual_effect = 'suppress'
            then jsonb_build_object('by', s.manual_by, 'reason', s.manual_reason, 'occurred_at', s.manual_at)
        when s.last_suppress_at is null or s.soft_suppress_at > s.last_suppress_at then s.soft_suppress
        else s.first_suppress
    end as evidence,
    s.last_suppress_at,
    s.last_suppress
from suppressions s
where is_suppressed(s);

-- The key under which the address of an erased person is kept, so that a stop outlives the address.
create table erasure_key (
    only_row boolean primary key default true check (only_row),
    key      bytea not null
);

insert into erasure_key (key)
values (sha256(cast(gen_random_uuid()::text || gen_random_uuid()::text || clock_timestamp()::text as bytea)));

-- What an address is called once its person is erased. Only whoever may run this can tell whether an address was.
create function erased_form(address text) returns text
language sql stable security definer set search_path = pg_catalog, public, pg_temp
return (
    select 'erased:' || encode(sha256(k.key || sha256(k.key || convert_to(lower(address), 'UTF8'))), 'hex')
    from public.erasure_key k
);

revoke all on function erased_form(text) from public;

-- What people did manually: who, what, when. An address stands here in its erased form only.
create table audit_log (
    audit_id bigint generated always as identity primary key,
    at       timestamptz not null default now(),
    by_whom  text        not null,
    action   text        not null,
    subject  text,
    details  jsonb       not null default '{}'
);

create index audit_log_at on audit_log (at);

-- Who may ask. The token itself is shown once and never kept: its digest is enough to know it again.
create table api_tokens (
    name         text collate "C" primary key,
    token_hash   text collate "C" not null unique,
    scopes       text[]      not null,
    created_at   timestamptz not null,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    -- To the hour.
    last_used_at timestamptz,
    -- What the token may see; null for what every source said.
    sources      text[]
);

-- Whether a row was already there for whoever took the snapshot. Row versions carry half of a transaction number; the
-- other half is that of the snapshot, as long as fewer than two thousand million transactions lie between them.
create function was_seen(version xid, snapshot pg_snapshot) returns boolean
language sql immutable parallel safe
return pg_visible_in_snapshot(
    cast(cast(greatest(
        cast(cast(pg_snapshot_xmax(snapshot) as text) as bigint)
        + ((cast(cast(version as text) as bigint) - cast(cast(pg_snapshot_xmax(snapshot) as text) as bigint)
            + 2147483648) & 4294967295)
        - 2147483648,
        3
    ) as text) as xid8),
    snapshot
);

-- erased_form for many addresses at once, in their order: a call of its own for each would take most of the time.
create function erased_forms(addresses text[]) returns text[]
language sql stable security definer set search_path = pg_catalog, public, pg_temp
return (
    select array_agg(
        'erased:' || encode(sha256(k.key || sha256(k.key || convert_to(lower(a.address), 'UTF8'))), 'hex')
        order by a.place
    )
    from public.erasure_key k
    cross join unnest(addresses) with ordinality as a (address, place)
);

revoke all on function erased_forms(text[]) from public;

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
