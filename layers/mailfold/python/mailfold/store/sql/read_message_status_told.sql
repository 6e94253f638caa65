-- read_message_status_told: the status of one message for each recipient, as the sources of a bound token tell it.
select jsonb_build_object(
    'message_id', cast(:message_id as text), 'recipient', r.recipient, 'type', s.type, 'bounce_class', s.bounce_class,
    'first_at', s.first_at, 'last_at', s.last_at
)
from (
    select distinct e.recipient
    from email_events e
    where e.message_id = cast(:message_id as text) and e.recipient is not null
        and may_see(cast(:sources as jsonb), e.source)
) r
cross join lateral status_told(cast(:sources as jsonb), cast(:message_id as text), r.recipient) s
order by r.recipient
