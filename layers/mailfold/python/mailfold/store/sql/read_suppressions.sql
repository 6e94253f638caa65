-- read_suppressions: the next page of suppressed and once suppressed addresses, with the rule that decides and its evidence.
select to_jsonb(listed)
from (
    select
        s.address,
        s.scope,
        is_suppressed(s) as suppressed,
        case
            when s.manual_effect = 'suppress' then 'manual'
            when s.soft_suppress_at is not null and (s.last_suppress_at is null or s.soft_suppress_at > s.last_suppress_at)
                then 'soft_bounces'
            else s.first_suppress ->> 'type'
        end as reason,
        least(s.first_suppress_at, s.soft_suppress_at, case when s.manual_effect = 'suppress' then s.manual_at end) as since,
        greatest(s.last_suppress_at, s.soft_suppress_at, case when s.manual_effect = 'suppress' then s.manual_at end) as last_suppress_at,
        case when s.manual_effect = 'suppress' then s.manual_reason else s.first_suppress ->> 'reason' end as detail
    from suppressions s
    where (s.address, s.scope) > (cast(:after_address as text), cast(:after_scope as text))
      and (is_suppressed(s) or not cast(:active as boolean))
) as listed
where cast(:reason as text) in ('', listed.reason)
order by listed.address, listed.scope
limit cast(:most as integer)
