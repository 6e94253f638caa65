-- dead_letters_done: forget the dead letters that were folded, and give the others today's reason.
with folded as (
    delete from dead_letters
    where dead_letter_id in (select jsonb_array_elements_text(cast(:folded as jsonb)))
)

update dead_letters d
set reason = l.reason
from jsonb_to_recordset(cast(:left_over as jsonb)) as l (dead_letter_id text, reason text)
where d.dead_letter_id = l.dead_letter_id
