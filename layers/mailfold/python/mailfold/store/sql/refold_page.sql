-- refold_page: the next addresses that another rule may concern, each where its first such bounce was received.
select jsonb_build_object('address', e.recipient, 'received_at', e.received_at, 'event_id', e.event_id)
from email_events e
where e.type = 'bounced' and e.recipient is not null
  and (
      cast(:soft as boolean) and e.bounce_class = 'soft' and not e.message_fault
      or cast(:pattern as text) <> '' and e.reason ~ cast(:pattern as text)
  )
  and (e.received_at, e.event_id) > (cast(:after_at as timestamptz), cast(:after_id as text))
  and not exists (
      select from email_events b
      where b.recipient = e.recipient and b.type = 'bounced'
        and (
            cast(:soft as boolean) and b.bounce_class = 'soft' and not b.message_fault
            or cast(:pattern as text) <> '' and b.reason ~ cast(:pattern as text)
        )
        and (b.received_at, b.event_id) < (e.received_at, e.event_id)
  )
order by e.received_at, e.event_id
limit cast(:most as integer)
