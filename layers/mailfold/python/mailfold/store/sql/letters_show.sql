-- letters_show: one dead letter, whole.
select to_jsonb(d) from dead_letters d where d.dead_letter_id = cast(:dead_letter_id as text)
