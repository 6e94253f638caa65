-- publish_next: the oldest changes above the floor that are not yet published, without the keys that are held back.
select outbox_id, topic, key, body, created_at
from outbox
where published_at is null
  and outbox_id > cast(:floor as bigint)
  and key not in (select held.key from jsonb_array_elements_text(cast(:held as jsonb)) as held (key))
order by outbox_id
limit cast(:page as integer)
