-- held: the fingerprints under which these event ids are already stored.
select event_id, fingerprint
from email_events
where event_id in (select jsonb_array_elements_text(cast(:event_ids as jsonb)))
