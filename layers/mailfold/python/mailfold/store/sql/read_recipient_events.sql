-- read_recipient_events: the newest events of one address, also under the name it has once its person is erased, as far as
-- their reasons fit. `found` says how many there are, up to the limit.
with found as (
    select e.*
    from unnest(array[cast(:address as text), erased_form(cast(:address as text))]) as who (name)
    -- One look-up for each name: together they would have to be sorted, however many there are.
    cross join lateral (
        select
            event_id, source, provider, message_id, kind, type, bounce_class, occurred_at, reason, machine
        from email_events
        where recipient = who.name and may_see(cast(:sources as jsonb), source)
        order by occurred_at desc, event_id desc
        limit cast(:most as integer)
    ) e
    order by e.occurred_at desc, e.event_id desc
    limit cast(:most as integer)
),

measured as (
    select
        f.*,
        sum(coalesce(octet_length(f.reason), 0)) over (order by f.occurred_at desc, f.event_id desc)
        - coalesce(octet_length(f.reason), 0) as bytes_before
    from found f
)

select jsonb_build_object(
    'event_id', e.event_id, 'source', e.source, 'provider', e.provider, 'message_id', e.message_id, 'kind', e.kind,
    'type', e.type, 'bounce_class', e.bounce_class, 'occurred_at', e.occurred_at, 'reason', e.reason,
    'machine', e.machine, 'found', (select count(*) from found)
)
from measured e
where e.bytes_before < cast(:most_bytes as bigint)
order by e.occurred_at desc, e.event_id desc
