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
        s.first_suppress_at, s.first_suppress_event_id, s.first_suppress,
        s.last_suppress_at, s.last_suppress_event_id, s.last_suppress,
        s.last_lift_at, s.last_lift_event_id, s.last_lift,
        s.soft_suppress_at, s.soft_suppress,
        s.manual_effect, s.manual_at, s.manual_by, s.manual_reason
)

insert into suppressions as s (
    address, scope,
    first_suppress_at, first_suppress_event_id, first_suppress,
    last_suppress_at, last_suppress_event_id, last_suppress,
    last_lift_at, last_lift_event_id, last_lift,
    soft_suppress_at, soft_suppress,
    manual_effect, manual_at, manual_by, manual_reason
)
select * from gone order by new_address, new_scope
on conflict (address, scope) do update set
    (first_suppress_at, first_suppress_event_id, first_suppress) = (
        select * from (values
            (s.first_suppress_at, s.first_suppress_event_id, s.first_suppress),
            (excluded.first_suppress_at, excluded.first_suppress_event_id, excluded.first_suppress)
        ) as stop (at, event_id, evidence)
        order by at nulls last, event_id collate "C", evidence
        limit 1
    ),
    (last_suppress_at, last_suppress_event_id, last_suppress) = (
        select * from (values
            (s.last_suppress_at, s.last_suppress_event_id, s.last_suppress),
            (excluded.last_suppress_at, excluded.last_suppress_event_id, excluded.last_suppress)
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
    -- The sweep derives it again; until then the later stop is the safer one.
    (soft_suppress_at, soft_suppress) = (
        select * from (values
            (s.soft_suppress_at, s.soft_suppress), (excluded.soft_suppress_at, excluded.soft_suppress)
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
