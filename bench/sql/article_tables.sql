-- article_tables: the three tables of the consumer that most teams start with.
create table article_events (
    event_id    text primary key,
    message_id  text        not null,
    type        text        not null,
    recipient   text        not null,
    occurred_at timestamptz not null,
    payload     jsonb       not null
);

create index article_events_message on article_events (message_id, type, occurred_at desc);

create table article_status (
    message_id  text        not null,
    type        text        not null,
    occurred_at timestamptz not null,
    primary key (message_id, type)
);

create table article_suppressions (
    email         text primary key,
    reason        text        not null,
    suppressed_at timestamptz not null
);

-- What Powertools' own persistence layers keep per record.
create table record_claims (
    id           text primary key,
    status       text   not null,
    expiration   bigint not null,
    data         text,
    payload_hash text
);

-- The rows of a batch as the fold reads them, typed, without a client or JSON around them.
create table staging (
    event_id       text collate "C",
    fingerprint    text collate "C",
    source         text,
    provider       text,
    kind           text,
    type           text,
    bounce_class   text,
    effect         text,
    scope          text collate "C",
    message_id     text collate "C",
    recipient      text collate "C",
    occurred_at    timestamptz,
    received_at    timestamptz,
    reason         text,
    machine        boolean,
    raw            jsonb,
    blames_message boolean
);

create table copied (like staging);
alter table copied add primary key (event_id);
