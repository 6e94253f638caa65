-- replay_hold_statuses: lock the statuses that changed events had or have, in the order of the fold.
-- A status that is not there yet is put there with times that give way to any other: it too is locked in its turn.
insert into message_status as s (message_id, recipient, type, bounce_class, first_at, last_at, received_at)
select message_id, recipient, type, coalesce(bounce_class, ''), 'infinity', '-infinity', '-infinity'
from jsonb_to_recordset(cast(:readings as jsonb)) as r (message_id text, recipient text, type text, bounce_class text)
where message_id is not null and recipient is not null
group by 1, 2, 3, 4
order by message_id collate "C", recipient collate "C", type, coalesce(bounce_class, '')
on conflict (message_id, recipient, type, bounce_class) do update set type = excluded.type
returning jsonb_build_object(
    'message_id', new.message_id, 'recipient', new.recipient, 'type', new.type, 'bounce_class', new.bounce_class,
    'is_new', old.message_id is null
)
