-- What the person on call needs: dead letters that can be grouped and folded again, erased people, and who did what.

-- Some adapters read an event's id from the request's headers: without them a dead letter folded again would be another event.
alter table dead_letters add column headers jsonb not null default '{}';

-- Letters that failed in the same way share a group: source, kind and reason, whatever numbers the reason holds.
alter table dead_letters add column group_id text collate "C" not null generated always as (
    left(md5(coalesce(source, '') || E'\x1f' || kind || E'\x1f' || regexp_replace(reason, '\d+', '#', 'g')), 12)
) stored;

create index dead_letters_group on dead_letters (group_id, created_at, dead_letter_id);

-- The key under which the address of an erased person is kept, so that a stop outlives the address.
create table erasure_key (
    only_row boolean primary key default true check (only_row),
    key      bytea not null
);

insert into erasure_key (key)
values (sha256(cast(gen_random_uuid()::text || gen_random_uuid()::text || clock_timestamp()::text as bytea)));

-- What an address is called once its person is erased. Only whoever may run this can tell whether an address was.
create function erased_form(address text) returns text
language sql stable security definer set search_path = pg_catalog, public
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
