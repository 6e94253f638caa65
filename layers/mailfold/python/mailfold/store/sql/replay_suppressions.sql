-- replay_suppressions: bring the suppressions that are held to what supports them: stored events, kept evidence, hands.
-- Evidence of a changed event makes room for what the store says now; evidence of a pruned event is kept.
with held as (
    select s.*, k.was_suppressed
    from jsonb_to_recordset(cast(:keys as jsonb)) as k (address text, scope text, was_suppressed boolean)
    join suppressions s using (address, scope)
),

gone as (
    select *
    from jsonb_to_recordset(cast(:was as jsonb)) as w (
        event_id text, recipient text, scope text, effect text, occurred_at timestamptz
    )
    where effect is not null
),

slots as (
    select h.address, h.scope, slot.*
    from held h
    cross join lateral (values
        ('suppress', h.first_suppress_at, h.first_suppress_event_id, h.first_suppress),
        ('suppress', h.last_suppress_at, h.last_suppress_event_id, h.last_suppress),
        ('lift', h.last_lift_at, h.last_lift_event_id, h.last_lift)
    ) as slot (effect, at, event_id, evidence)
    where slot.at is not null
),

effects as (
    select s.address, s.scope, s.effect, s.at, s.event_id, s.evidence
    from slots s
    where not exists (
        select from gone g
        where (g.event_id, g.recipient, g.scope, g.effect, g.occurred_at) = (s.event_id, s.address, s.scope, s.effect, s.at)
    )
    union all
    select
        h.address, h.scope, e.effect, e.occurred_at, e.event_id,
        jsonb_build_object(
            'event_id', e.event_id, 'type', e.type, 'bounce_class', e.bounce_class, 'reason', e.reason,
            'message_id', e.message_id, 'source', e.source, 'occurred_at', e.occurred_at
        )
    from held h
    join email_events e on e.recipient = cast(h.address as text) collate "default" and e.scope = h.scope
    where e.effect is not null
),

decisions as (
    select
        address,
        scope,
        array_agg(at order by at, event_id collate "C", evidence) filter (where effect = 'suppress') as suppress_times,
        array_agg(event_id order by at, event_id collate "C", evidence) filter (where effect = 'suppress') as suppress_ids,
        array_agg(evidence order by at, event_id collate "C", evidence) filter (where effect = 'suppress') as stops,
        array_agg(at order by at, event_id collate "C", evidence) filter (where effect = 'lift') as lift_times,
        array_agg(event_id order by at, event_id collate "C", evidence) filter (where effect = 'lift') as lift_ids,
        array_agg(evidence order by at, event_id collate "C", evidence) filter (where effect = 'lift') as lifts
    from effects
    group by address, scope
),

settled as (
    select
        h.address, h.scope, h.was_suppressed, d.suppress_times, d.suppress_ids, d.stops, d.lift_times, d.lift_ids, d.lifts,
        d.address is null and h.soft_suppress_at is null and h.manual_effect is null as is_empty
    from held h
    left join decisions d on d.address = h.address and d.scope = h.scope
),

removed as (
    delete from suppressions s
    using settled t
    where s.address = t.address and s.scope = t.scope and t.is_empty
    returning s.address, s.scope, t.was_suppressed, false as is_suppressed, cast(null as jsonb) as because
),

decided as (
    update suppressions s
    set
        (first_suppress_at, first_suppress_event_id, first_suppress) = (t.suppress_times[1], t.suppress_ids[1], t.stops[1]),
        (last_suppress_at, last_suppress_event_id, last_suppress) = (
            t.suppress_times[cardinality(t.suppress_times)], t.suppress_ids[cardinality(t.suppress_ids)], t.stops[cardinality(t.stops)]
        ),
        (last_lift_at, last_lift_event_id, last_lift) = (
            t.lift_times[cardinality(t.lift_times)], t.lift_ids[cardinality(t.lift_ids)], t.lifts[cardinality(t.lifts)]
        )
    from settled t
    where s.address = t.address and s.scope = t.scope and not t.is_empty
    returning
        new.address, new.scope, t.was_suppressed, is_suppressed(new) as is_suppressed,
        case
            when is_suppressed(new) then new.last_suppress
            when new.last_lift_at > new.last_suppress_at then new.last_lift
        end as because
),

changed as (
    select * from (select * from removed union all select * from decided) as both_ways where was_suppressed <> is_suppressed
),

announced as (
    insert into outbox_staging (changes)
    select jsonb_agg(
        jsonb_build_object(
            'topic', case when is_suppressed then 'address_suppressed' else 'suppression_lifted' end,
            'key', address,
            'body', jsonb_build_object(
                'address', address, 'scope', scope,
                -- No event lifts what is released because a stop is read otherwise now.
                'because', coalesce(because, jsonb_build_object('type', 'refolded', 'occurred_at', now()))
            )
        )
        order by address, scope
    )
    from changed
    where cast(:publish as boolean)
    having count(*) > 0
)

select jsonb_build_object('address', address, 'scope', scope, 'suppressed', is_suppressed)
from changed
order by address, scope
