-- read_bearing_events: the newest stored events that stop or lift an address, or belong to a row of soft bounces.
select jsonb_build_object(
    'event_id', event_id, 'source', source, 'type', type, 'bounce_class', bounce_class, 'effect', effect, 'scope', scope,
    'message_id', message_id, 'occurred_at', occurred_at, 'reason', reason
)
from email_events
where recipient in (cast(:address as text), erased_form(cast(:address as text)))
  and (
      effect is not null
      or (bounce_class = 'soft' and not message_fault)
      or type in ('delivered', 'opened', 'clicked')
  )
order by occurred_at desc, event_id desc
limit cast(:most as integer)
