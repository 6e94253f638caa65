-- replay_events: write other readings of stored events, locked in the order of their ids; return each before and after.
with readings as (
    select *
    from jsonb_to_recordset(cast(:readings as jsonb)) as r (
        event_id     text collate "C",
        seen         text,
        fingerprint  text,
        kind         text,
        type         text,
        bounce_class text,
        effect       text,
        scope        text,
        message_id   text,
        recipient    text,
        occurred_at  timestamptz,
        reason       text,
        machine      boolean,
        message_fault boolean
    )
),

locked as (
    select e.event_id, cast(e.xmin as text) as version
    from email_events e
    join readings r on r.event_id = e.event_id
    order by e.event_id
    for update of e
)

update email_events e
set
    (fingerprint, kind, type, bounce_class, effect, scope) =
        (r.fingerprint, r.kind, r.type, r.bounce_class, r.effect, r.scope),
    (message_id, recipient, occurred_at, reason, machine, message_fault) =
        (r.message_id, r.recipient, r.occurred_at, r.reason, r.machine, r.message_fault)
from readings r
join locked l on l.event_id = r.event_id and l.version = r.seen
where e.event_id = r.event_id
returning jsonb_build_object('was', to_jsonb(old) - 'payload', 'now', to_jsonb(new) - 'payload')
