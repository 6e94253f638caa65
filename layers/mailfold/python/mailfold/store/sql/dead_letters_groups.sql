-- dead_letters_groups: the dead letters by the way in which they failed, with one of each to look at.
select jsonb_build_object(
    'group_id', group_id, 'source', min(source), 'kind', min(kind),
    -- Of a traceback the last line is what tells.
    'reason', left((regexp_match(rtrim(min(reason), E'\n'), '[^\n]*$'))[1], 200),
    'dead_letters', count(*), 'unproven', count(*) filter (where unproven), 'oldest', min(created_at), 'newest', max(created_at), 'sample', min(dead_letter_id)
)
from dead_letters
group by group_id
order by count(*) desc, group_id
