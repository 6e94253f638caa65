-- What the query API needs: tokens, pages that do not shift, and counts that an index answers.

-- Who may ask. The token itself is shown once and never kept: its digest is enough to know it again.
create table api_tokens (
    name         text collate "C" primary key,
    token_hash   text collate "C" not null unique,
    scopes       text[]      not null,
    created_at   timestamptz not null,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    -- To the hour.
    last_used_at timestamptz
);

-- Prune takes the oldest first, a batch at a time. What else is in it lets the counts of the last hours and days be
-- read without the events themselves, which are ten times as large.
drop index email_events_received_at;
create index email_events_received_at on email_events (received_at) include (occurred_at, source, type, bounce_class);

-- The newest trouble. Rare among the events, so that it costs little; the other types are found soon enough without it.
create index email_events_trouble on email_events (type, received_at)
where type in ('deferred', 'bounced', 'dropped', 'complained', 'unsubscribed');

-- The newest stops.
create index suppressions_since on suppressions (
    coalesce(least(first_suppress_at, soft_suppress_at, case when manual_effect = 'suppress' then manual_at end), '-infinity'),
    address,
    scope
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
language sql stable security definer set search_path = pg_catalog, public
return (
    select array_agg(
        'erased:' || encode(sha256(k.key || sha256(k.key || convert_to(lower(a.address), 'UTF8'))), 'hex')
        order by a.place
    )
    from public.erasure_key k
    cross join unnest(addresses) with ordinality as a (address, place)
);

revoke all on function erased_forms(text[]) from public;
