-- baseline_tables: the three tables of the naive consumer, and the claims of Powertools per record.
create table naive_events (
    event_id    text primary key,
    message_id  text        not null,
    type        text        not null,
    recipient   text        not null,
    occurred_at timestamptz not null,
    payload     jsonb       not null
);

create index naive_events_message on naive_events (message_id, type, occurred_at desc);

create table naive_status (
    message_id  text        not null,
    type        text        not null,
    occurred_at timestamptz not null,
    primary key (message_id, type)
);

create table naive_suppressions (
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
