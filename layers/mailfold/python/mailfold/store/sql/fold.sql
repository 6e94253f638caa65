-- fold: store the events nobody has stored yet and join them into statuses, suppressions and the outbox.
-- Every write is sorted by its key: two batches that overlap lock the same rows in the same order.
-- With settle, the events are known to be stored with other content: all contents are joined into the state, which can
-- only add to it, and of each event the content whose fingerprint sorts first is kept, in whatever order they came.
with contents as (
    select distinct on (event_id, fingerprint) *
    from jsonb_to_recordset(cast(:events as jsonb)) as e (
        event_id     text collate "C",
        fingerprint  text collate "C",
        source       text,
        provider     text,
        kind         text,
        type         text,
        bounce_class text,
        effect       text,
        scope        text collate "C",
        message_id   text collate "C",
        recipient    text collate "C",
        occurred_at  timestamptz,
        received_at  timestamptz,
        reason       text,
        machine      boolean,
        raw          jsonb,
        message_fault boolean
    )
    order by event_id, fingerprint
),

incoming as (
    select distinct on (event_id) * from contents order by event_id, fingerprint
),

stored as (
    insert into email_events (
        event_id, fingerprint, source, provider, kind, type, bounce_class, effect, scope,
        message_id, recipient, occurred_at, received_at, reason, machine, payload, message_fault
    )
    select
        event_id, fingerprint, source, provider, kind, type, bounce_class, effect, scope,
        message_id, recipient, occurred_at, received_at, reason, machine, raw, message_fault
    from incoming
    order by event_id
    on conflict (event_id) do nothing
    returning
        event_id, source, type, bounce_class, effect, scope,
        message_id, recipient, occurred_at, received_at, reason
),

locked as (
    select e.event_id
    from email_events e
    join incoming i on i.event_id = e.event_id and i.fingerprint < e.fingerprint
    where cast(:settle as boolean)
    order by e.event_id
    for update of e
),

replaced as (
    update email_events e
    set
        (fingerprint, source, provider, kind, type, bounce_class, effect, scope) =
            (i.fingerprint, i.source, i.provider, i.kind, i.type, i.bounce_class, i.effect, i.scope),
        (message_id, recipient, occurred_at, received_at, reason, machine, payload, message_fault) = (
            i.message_id, i.recipient, i.occurred_at, i.received_at, i.reason, i.machine, i.raw, i.message_fault
        )
    from incoming i
    where e.event_id in (select event_id from locked) and e.event_id = i.event_id and i.fingerprint < e.fingerprint
    returning old.event_id, old.fingerprint, old.source, old.provider, old.received_at, old.payload
),

folded as (
    select * from stored
    union all
    select
        event_id, source, type, bounce_class, effect, scope,
        message_id, recipient, occurred_at, received_at, reason
    from contents
    where cast(:settle as boolean)
),

statuses as (
    insert into message_status as s (message_id, recipient, type, bounce_class, first_at, last_at, received_at)
    select
        message_id, recipient, type, coalesce(bounce_class, ''),
        min(occurred_at), max(occurred_at), max(received_at)
    from folded
    where message_id is not null and recipient is not null
    group by 1, 2, 3, 4
    order by message_id collate "C", recipient collate "C", type, coalesce(bounce_class, '')
    on conflict (message_id, recipient, type, bounce_class) do update set
        first_at = least(s.first_at, excluded.first_at),
        last_at = greatest(s.last_at, excluded.last_at),
        received_at = greatest(s.received_at, excluded.received_at)
    returning
        new.message_id, new.recipient, new.type, new.bounce_class, new.first_at,
        old.message_id is null as is_new
),

effects as (
    select
        recipient as address,
        scope,
        effect,
        occurred_at,
        event_id,
        jsonb_build_object(
            'event_id', event_id, 'type', type, 'bounce_class', bounce_class, 'reason', reason,
            'message_id', message_id, 'source', source, 'occurred_at', occurred_at
        ) as evidence
    from folded
    where effect is not null and recipient is not null
),

decisions as (
    select
        address,
        scope,
        min(occurred_at) filter (where effect = 'suppress') as first_suppress_at,
        max(occurred_at) filter (where effect = 'suppress') as last_suppress_at,
        max(occurred_at) filter (where effect = 'lift') as last_lift_at,
        array_agg(event_id order by occurred_at, event_id collate "C", evidence) filter (where effect = 'suppress') as suppress_ids,
        array_agg(evidence order by occurred_at, event_id collate "C", evidence) filter (where effect = 'suppress') as stops,
        array_agg(event_id order by occurred_at, event_id collate "C", evidence) filter (where effect = 'lift') as lift_ids,
        array_agg(evidence order by occurred_at, event_id collate "C", evidence) filter (where effect = 'lift') as lifts
    from effects
    group by address, scope
),

decided as (
    insert into suppressions as s (
        address, scope,
        first_suppress_at, first_suppress_event_id, first_suppress,
        last_suppress_at, last_suppress_event_id, last_suppress,
        last_lift_at, last_lift_event_id, last_lift
    )
    select
        address, scope,
        first_suppress_at, suppress_ids[1], stops[1],
        last_suppress_at, suppress_ids[cardinality(suppress_ids)], stops[cardinality(stops)],
        last_lift_at, lift_ids[cardinality(lift_ids)], lifts[cardinality(lifts)]
    from decisions
    -- Statuses are written first, whatever the plan: whoever else takes both, such as replay, takes them in this order.
    where (select count(*) from statuses) is not null
    order by address collate "C", scope collate "C"
    on conflict (address, scope) do update set
        (first_suppress_at, first_suppress_event_id, first_suppress) = (
            select * from (values
                (s.first_suppress_at, s.first_suppress_event_id, s.first_suppress),
                (excluded.first_suppress_at, excluded.first_suppress_event_id, excluded.first_suppress)
            ) as stop (at, event_id, evidence)
            order by at nulls last, event_id collate "C", evidence
            limit 1
        ),
        (last_suppress_at, last_suppress_event_id, last_suppress) = (
            select * from (values
                (s.last_suppress_at, s.last_suppress_event_id, s.last_suppress),
                (excluded.last_suppress_at, excluded.last_suppress_event_id, excluded.last_suppress)
            ) as stop (at, event_id, evidence)
            order by at desc nulls last, event_id collate "C" desc, evidence desc
            limit 1
        ),
        (last_lift_at, last_lift_event_id, last_lift) = (
            select * from (values
                (s.last_lift_at, s.last_lift_event_id, s.last_lift),
                (excluded.last_lift_at, excluded.last_lift_event_id, excluded.last_lift)
            ) as lift (at, event_id, evidence)
            order by at desc nulls last, event_id collate "C" desc, evidence desc
            limit 1
        )
    returning
        new.address, new.scope, new.last_suppress_at, new.last_suppress, new.last_lift_at, new.last_lift,
        coalesce(is_suppressed(old), false) as was_suppressed,
        is_suppressed(new) as is_suppressed
),

announced as (
    insert into outbox_staging (changes)
    select jsonb_agg(jsonb_build_object('topic', topic, 'key', key, 'body', body) order by topic, key, at, body)
    from (
        select
            'status_changed' as topic,
            message_id as key,
            first_at as at,
            jsonb_build_object(
                'message_id', message_id, 'recipient', recipient, 'type', type,
                'bounce_class', nullif(bounce_class, ''), 'occurred_at', first_at
            ) as body
        from statuses
        where is_new
        union all
        select
            case when is_suppressed then 'address_suppressed' else 'suppression_lifted' end,
            address,
            case when is_suppressed then last_suppress_at else last_lift_at end,
            jsonb_build_object(
                'address', address, 'scope', scope,
                'because', case when is_suppressed then last_suppress else last_lift end
            )
        from decided
        where was_suppressed <> is_suppressed
    ) as change
    where cast(:publish as boolean)
    having count(*) > 0
)

-- One row: the events that were stored before, being the few, and the contents that had to make room.
select
    (select jsonb_agg(event_id) from incoming where event_id not in (select event_id from stored)) as known,
    (select jsonb_agg(to_jsonb(replaced)) from replaced) as replaced
