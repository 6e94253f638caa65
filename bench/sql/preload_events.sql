-- preload_events: :rows events in order of arrival, evenly over the 30 days before :now; ids are hashes, as a provider's.
-- Three events make a message. The payload is one constant, 319 bytes as jsonb: trees and pages are what a store of
-- this size is loaded for, and parsing five million payloads would take a minute.
set synchronous_commit = off;
insert into email_events (
    event_id, fingerprint, source, provider, kind, type, scope, message_id, recipient,
    occurred_at, received_at, machine, payload
)
select
    'sendgrid:' || md5('event' || n),
    md5('content' || n),
    'sendgrid',
    'sendgrid',
    (array['processed', 'delivered', 'open'])[n % 3 + 1],
    (array['processed', 'delivered', 'opened'])[n % 3 + 1],
    '',
    left(message, 22),
    left(message, 10) || '@example.com',
    received_at - interval '2 seconds',
    received_at,
    false,
    jsonb '{"ip": "203.0.113.7", "category": ["newsletter", "2026-11"], "account_id": "3596ba166fe0",
        "useragent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15", "timestamp": 1763467201,
        "campaign": {"id": "c-2026-11-18", "segment": "active-90-days", "variant": "b"}}'
from
    generate_series(0, :rows - 1) as n,
    lateral (
        select
            md5('message' || n / 3) as message,
            timestamptz :'now' - interval '30 days' * (1 - n / cast(:rows as double precision)) as received_at
    ) as drawn;
set maintenance_work_mem = '512MB';
-- Trees that random keys grew are two thirds full; a fuller one would split its pages under the first events.
alter table email_events add primary key (event_id) with (fillfactor = 70);
create index email_events_message_id on email_events (message_id)
with (fillfactor = 70)
where message_id is not null;
create index email_events_recipient on email_events (recipient, occurred_at)
with (fillfactor = 70)
where recipient is not null;
create index email_events_received_at on email_events (received_at) include (occurred_at, source, type, bounce_class);
create index email_events_trouble on email_events (type, received_at)
where type in ('deferred', 'bounced', 'dropped', 'complained', 'unsubscribed');
