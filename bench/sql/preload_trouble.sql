-- preload_trouble: what a store of :rows events holds besides deliveries: one message in fifty with trouble, a source
-- with little traffic, a stop for every tenth of a percent and more, and dead letters in a few groups.
set synchronous_commit = off;
insert into email_events (
    event_id, fingerprint, source, provider, kind, type, bounce_class, scope, message_id, recipient,
    occurred_at, received_at, reason, machine, payload
)
select
    'sendgrid:' || md5('trouble' || n),
    md5('trouble content' || n),
    case when n % 100 = 0 then 'rare' else 'sendgrid' end,
    'sendgrid',
    kind,
    case kind when 'hard' then 'bounced' when 'soft' then 'bounced' else kind end,
    case when kind in ('hard', 'soft') then kind end,
    '',
    left(message, 22),
    left(message, 10) || '@example.com',
    received_at - interval '2 seconds',
    received_at,
    '550 5.1.1 The email account does not exist',
    false,
    jsonb '{"ip": "203.0.113.7", "category": ["newsletter", "2026-11"], "account_id": "3596ba166fe0"}'
from
    generate_series(0, :rows / 50 - 1) as n,
    lateral (
        select
            md5('message' || n * 16) as message,
            (array['hard', 'soft', 'soft', 'deferred', 'deferred', 'dropped', 'complained', 'unsubscribed'])[n % 8 + 1]
                as kind,
            timestamptz :'now' - interval '30 days' * (1 - n * 50 / cast(:rows as double precision)) as received_at
    ) as drawn;

insert into message_status (message_id, recipient, type, bounce_class, first_at, last_at, received_at)
select message_id, recipient, type, coalesce(bounce_class, ''), occurred_at, occurred_at, received_at
from email_events
where type in ('deferred', 'bounced', 'dropped', 'complained', 'unsubscribed')
on conflict do nothing;

insert into suppressions (
    address, scope, first_suppress_at, first_suppress_event_id, first_suppress, last_suppress_at, last_suppress_event_id, last_suppress, last_lift_at
)
select
    left(md5('stopped' || n), 10) || '@example.com',
    case when n % 20 = 0 then 'group:10' else '' end,
    stopped_at, event_id, evidence, stopped_at, event_id, evidence,
    case when n % 10 = 0 then stopped_at + interval '1 hour' end
from
    generate_series(0, :rows / 10 - 1) as n,
    lateral (
        select
            timestamptz :'now' - interval '300 days' * (1 - n * 10 / cast(:rows as double precision)) as stopped_at,
            'sendgrid:' || md5('suppress' || n) as event_id,
            jsonb_build_object('type', case when n % 50 = 0 then 'complained' else 'bounced' end) as evidence
    ) as drawn
on conflict do nothing;

insert into dead_letters (dead_letter_id, kind, reason, source, provider, claim_key, raw, received_at, created_at)
select
    md5('letter' || n), 'unparseable', 'no field ' || chr(97 + n % 12), 'sendgrid', 'sendgrid', md5('claim' || n),
    '{"event": "delivered", "email": "somebody@example.com"}', at, at
from
    generate_series(0, :rows / 100 - 1) as n,
    lateral (select timestamptz :'now' - interval '30 days' * (1 - n * 100 / cast(:rows as double precision)) as at) as drawn;

vacuum (freeze, analyze) email_events, message_status, suppressions, dead_letters;
checkpoint;
