-- publish_done: note which changes the bus has taken.
update outbox
set published_at = clock_timestamp()
where outbox_id = any(array(
    select cast(id as bigint) from jsonb_array_elements_text(cast(:outbox_ids as jsonb)) as taken (id)
))
