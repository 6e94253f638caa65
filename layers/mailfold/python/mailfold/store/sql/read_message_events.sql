-- read_message_events: the events of one message, or the one of an id, in the order in which they happened, with the raw
-- where it is asked for.
select jsonb_build_object(
    'event_id', event_id, 'source', source, 'provider', provider, 'kind', kind, 'type', type,
    'bounce_class', bounce_class, 'recipient', recipient, 'occurred_at', occurred_at, 'received_at', received_at,
    'reason', reason, 'machine', machine
) || case when cast(:raw as boolean) then jsonb_build_object('raw', payload) else '{}' end
from email_events
where message_id = cast(:message_id as text) and cast(:event_id as text) in ('', event_id)
order by occurred_at, event_id
