-- erase_move_suppressions: give rows to an erased form and join them with what it has, as the fold would.
with given as (
    select *
    from jsonb_to_recordset(cast(:rows as jsonb)) as r (
        address text collate "C", scope text collate "C", new_address text, new_scope text
    )
    where (address, scope) <> (new_address, new_scope)
),

gone as (
    delete from suppressions s
    using given g
    where s.address = g.address and s.scope = g.scope
    returning
        g.new_address, g.new_scope,
        s.first_stop_at, s.first_stop_event_id, s.first_stop,
        s.last_stop_at, s.last_stop_event_id, s.last_stop,
        s.last_lift_at, s.last_lift_event_id, s.last_lift,
        s.soft_stop_at, s.soft_stop,
        s.manual_effect, s.manual_at, s.manual_by, s.manual_reason
)

insert into suppressions as s (
    address, scope,
    first_stop_at, first_stop_event_id, first_stop,
    last_stop_at, last_stop_event_id, last_stop,
    last_lift_at, last_lift_event_id, last_lift,
    soft_stop_at, soft_stop,
    manual_effect, manual_at, manual_by, manual_reason
)
select * from gone order by new_address, new_scope
on conflict (address, scope) do update set
    (first_stop_at, first_stop_event_id, first_stop) = (
        select * from (values
            (s.first_stop_at, s.first_stop_event_id, s.first_stop),
            (excluded.first_stop_at, excluded.first_stop_event_id, excluded.first_stop)
        ) as stop (at, event_id, evidence)
        order by at nulls last, event_id collate "C", evidence
        limit 1
    ),
    (last_stop_at, last_stop_event_id, last_stop) = (
        select * from (values
            (s.last_stop_at, s.last_stop_event_id, s.last_stop),
            (excluded.last_stop_at, excluded.last_stop_event_id, excluded.last_stop)
        ) as stop (at, event_id, evidence)
        order by at desc nulls last, event_id collate "C" desc, evidence desc
        limit 1
    ),
    (last_lift_at, last_lift_event_id, last_lift) = (
        select * from (values
            (s.last_lift_at, s.last_lift_event_id, s.last_lift),
            (excluded.last_lift_at, excluded.last_lift_event_id, excluded.last_lift)
        ) as lift (at, event_id, evidence)
        order by at desc nulls last, event_id collate "C" desc, evidence desc
        limit 1
    ),
    -- The sweep derives it anew; until then the later stop is the safer one.
    (soft_stop_at, soft_stop) = (
        select * from (values
            (s.soft_stop_at, s.soft_stop), (excluded.soft_stop_at, excluded.soft_stop)
        ) as stop (at, evidence)
        order by at desc nulls last, evidence desc
        limit 1
    ),
    (manual_effect, manual_at, manual_by, manual_reason) = (
        select * from (values
            (s.manual_effect, s.manual_at, s.manual_by, s.manual_reason),
            (excluded.manual_effect, excluded.manual_at, excluded.manual_by, excluded.manual_reason)
        ) as hand (effect, at, by_whom, reason)
        order by at desc nulls last, by_whom desc
        limit 1
    )
