-- The event store, the folded state, the claims and what could not be folded.

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
    payload      jsonb       not null
);

-- The timeline of a message.
create index email_events_message_id on email_events (message_id) where message_id is not null;
-- Prune takes the oldest first, a batch at a time.
create index email_events_received_at on email_events (received_at);

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
    primary key (address, scope)
);

-- The claims. A row without a result exists only inside the transaction that will complete it.
create table claims (
    claim_key    text collate "C" primary key,
    request_hash text        not null,
    source       text        not null,
    result       jsonb,
    created_at   timestamptz not null default now(),
    completed_at timestamptz
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
    created_at     timestamptz not null default now()
);

-- Changes that are committed but not yet published.
create table outbox (
    outbox_id    bigint generated always as identity primary key,
    topic        text        not null,
    key          text        not null,
    body         jsonb       not null,
    created_at   timestamptz not null default now(),
    published_at timestamptz
);

create index outbox_unpublished on outbox (outbox_id) where published_at is null;

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

-- Whether the newest stop still holds. At the same instant a stop outweighs a lift, being safer.
create function is_suppressed(last_suppress_at timestamptz, last_lift_at timestamptz) returns boolean
language sql immutable parallel safe
return last_suppress_at is not null and (last_lift_at is null or last_suppress_at >= last_lift_at);

-- The addresses that must not be mailed now.
create view suppressed as
select
    address,
    scope,
    first_suppress_at as since,
    first_suppress ->> 'type' as reason,
    first_suppress as evidence,
    last_suppress_at,
    last_suppress
from suppressions
where is_suppressed(last_suppress_at, last_lift_at);
