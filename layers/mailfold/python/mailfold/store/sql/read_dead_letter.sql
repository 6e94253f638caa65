-- read_dead_letter: one letter with what was received.
select to_jsonb(d) from dead_letters d where d.dead_letter_id = cast(:dead_letter_id as text)
