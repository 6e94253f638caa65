-- read_message_timeline: the events of one message in the order in which they happened, with the raw where it is asked for.
select jsonb_build_object(
    'event_id', event_id, 'source', source, 'provider', provider, 'kind', kind, 'type', type,
    'bounce_class', bounce_class, 'recipient', recipient, 'occurred_at', occurred_at, 'received_at', received_at,
    'reason', reason, 'machine', machine
) || case when cast(:raw as boolean) then jsonb_build_object('raw', payload) else '{}' end
from email_events
where message_id = cast(:message_id as text)
order by occurred_at, event_id
limit cast(:most as integer)
