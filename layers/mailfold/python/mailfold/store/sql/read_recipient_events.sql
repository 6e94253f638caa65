-- read_recipient_events: the newest events of one address, also under the name it has once its person is erased.
select jsonb_build_object(
    'event_id', e.event_id, 'source', e.source, 'provider', e.provider, 'message_id', e.message_id, 'kind', e.kind,
    'type', e.type, 'bounce_class', e.bounce_class, 'occurred_at', e.occurred_at, 'reason', e.reason,
    'machine', e.machine
)
from unnest(array[cast(:address as text), erased_form(cast(:address as text))]) as who (name)
-- One look-up for each name: together they would have to be sorted, however many there are.
cross join lateral (
    select * from email_events
    where recipient = who.name
    order by occurred_at desc, event_id desc
    limit cast(:most as integer)
) e
order by e.occurred_at desc, e.event_id desc
limit cast(:most as integer)
