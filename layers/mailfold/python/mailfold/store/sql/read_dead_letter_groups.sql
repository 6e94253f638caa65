-- read_dead_letter_groups: the ways in which dead letters failed, with how many (`more` says at least) and the newest of each.
-- From one group to the next by the index, and no further into a group than what is told of it.
with recursive groups (group_id) as (
    (select group_id from dead_letters order by group_id limit 1)
    union all
    select (select d.group_id from dead_letters d where d.group_id > g.group_id order by d.group_id limit 1)
    from groups g
    where g.group_id is not null
)

select jsonb_build_object(
    'group_id', g.group_id, 'source', newest.source, 'kind', newest.kind,
    -- Of a traceback the last lines are what tells.
    'reason', right(newest.reason, cast(:reason_characters as integer)),
    'dead_letters', least(counted.dead_letters, cast(:most as integer)), 'more', counted.dead_letters > cast(:most as integer),
    'unproven', least(counted.unproven, cast(:most as integer)),
    'first_at', oldest.created_at, 'last_at', newest.created_at, 'sample', newest.dead_letter_id
)
from (
    select g.group_id
    from groups g
    -- All dead letters of a group have one source.
    where g.group_id is not null and (
        cast(:sources as jsonb) = 'null'
        or may_see(cast(:sources as jsonb), (
            select d.source from dead_letters d where d.group_id = g.group_id
            order by d.created_at, d.dead_letter_id limit 1
        ))
    )
    limit cast(:groups as integer)
) g
cross join lateral (
    select count(*) as dead_letters, count(*) filter (where first_ones.unproven) as unproven
    from (select d.unproven from dead_letters d where d.group_id = g.group_id limit cast(:most as integer) + 1) as first_ones
) counted
cross join lateral (
    select d.* from dead_letters d where d.group_id = g.group_id
    order by d.created_at desc, d.dead_letter_id desc limit 1
) newest
cross join lateral (
    select d.created_at from dead_letters d where d.group_id = g.group_id
    order by d.created_at, d.dead_letter_id limit 1
) oldest
order by newest.created_at desc, g.group_id
