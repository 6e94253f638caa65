-- read_recipient_events: the newest events of one address.
select jsonb_build_object(
    'event_id', event_id, 'source', source, 'provider', provider, 'message_id', message_id, 'kind', kind, 'type', type,
    'bounce_class', bounce_class, 'occurred_at', occurred_at, 'reason', reason, 'machine', machine
)
from email_events
where recipient in (cast(:address as text), erased_form(cast(:address as text)))
order by occurred_at desc, event_id desc
limit cast(:most as integer)
