-- refold_events: the bounces of some addresses whose reason holds one of the codes.
select to_jsonb(e) - 'payload' || jsonb_build_object('seen', cast(e.xmin as text))
from email_events e
where recipient = any(array(select jsonb_array_elements_text(cast(:addresses as jsonb))))
  and type = 'bounced' and reason ~ cast(:pattern as text)
order by event_id
