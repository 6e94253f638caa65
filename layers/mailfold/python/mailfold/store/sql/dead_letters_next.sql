-- dead_letters_next: the ids of the next dead letters to fold again, in number and in bytes no more than one page holds; and
-- what may keep them out of a redrive.
select dead_letter_id, unproven, kind
from (
    select dead_letter_id, unproven, kind, sum(bytes) over (order by dead_letter_id) - bytes as bytes_before
    from (
        select dead_letter_id, unproven, kind, octet_length(raw) as bytes
        from dead_letters
        where dead_letter_id > cast(:after_id as text) collate "C"
            and created_at < cast(:until as timestamptz)
            and cast(:group_id as text) in ('', group_id)
            and (
                cast(:dead_letter_ids as jsonb) = '[]'
                or dead_letter_id in (select jsonb_array_elements_text(cast(:dead_letter_ids as jsonb)))
            )
        order by dead_letter_id
        limit cast(:most as integer)
    ) as near
) as measured
where bytes_before < cast(:most_bytes as bigint)
order by dead_letter_id
