-- read_message_timeline: the events of one message in the order in which they happened, as far as their reasons fit; with
-- the raw where it is asked for, as far as the raws fit. `found` says how many there are, up to the limit.
with found as (
    select
        event_id, source, provider, kind, type, bounce_class, recipient, occurred_at, received_at, reason, machine, payload,
        coalesce(octet_length(reason), 0) as reason_bytes,
        case when cast(:raw as boolean) then octet_length(cast(payload as text)) end as raw_bytes
    from email_events
    where message_id = cast(:message_id as text) and may_see(cast(:sources as jsonb), source)
    order by occurred_at, event_id
    limit cast(:most as integer)
),

measured as (
    select
        f.*,
        sum(f.reason_bytes) over (order by f.occurred_at, f.event_id) - f.reason_bytes as reasons_before,
        sum(f.raw_bytes) over (order by f.occurred_at, f.event_id) - f.raw_bytes as raws_before
    from found f
)

select jsonb_build_object(
    'event_id', event_id, 'source', source, 'provider', provider, 'kind', kind, 'type', type,
    'bounce_class', bounce_class, 'recipient', recipient, 'occurred_at', occurred_at, 'received_at', received_at,
    'reason', reason, 'machine', machine, 'found', (select count(*) from found)
) || case
    when cast(:raw as boolean) then jsonb_build_object(
        'raw_bytes', raw_bytes, 'raw', case when raws_before < cast(:most_bytes as bigint) then payload end
    )
    else '{}'
end
from measured
where reasons_before < cast(:most_bytes as bigint)
order by occurred_at, event_id
