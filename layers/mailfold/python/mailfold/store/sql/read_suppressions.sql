-- read_suppressions: the next page of stopped and once stopped addresses, with the rule that decides and its evidence.
select to_jsonb(listed)
from (
    select
        s.address,
        s.scope,
        is_stopped(s) as stopped,
        case
            when s.manual_effect = 'stop' then 'manual'
            when s.soft_stop_at is not null and (s.last_stop_at is null or s.soft_stop_at > s.last_stop_at)
                then 'soft_bounces'
            else s.first_stop ->> 'type'
        end as reason,
        least(s.first_stop_at, s.soft_stop_at, case when s.manual_effect = 'stop' then s.manual_at end) as since,
        greatest(s.last_stop_at, s.soft_stop_at, case when s.manual_effect = 'stop' then s.manual_at end) as last_stop_at,
        case when s.manual_effect = 'stop' then s.manual_reason else s.first_stop ->> 'reason' end as detail
    from suppressions s
    where (s.address, s.scope) > (cast(:after_address as text), cast(:after_scope as text))
      and (is_stopped(s) or not cast(:active as boolean))
) as listed
where cast(:reason as text) in ('', listed.reason)
order by listed.address, listed.scope
limit cast(:most as integer)
