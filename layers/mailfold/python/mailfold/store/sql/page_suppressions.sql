-- page_suppressions: one page of the addresses that are or were stopped, the newest first stop first.
-- A bounded number of rows is looked at by an index, so a page may be short: `last` says where the next one begins.
with walked as materialized (
    select
        s.address,
        s.scope,
        coalesce(
            least(s.first_stop_at, s.soft_stop_at, case when s.manual_effect = 'stop' then s.manual_at end), '-infinity'
        ) as since,
        is_stopped(s) as stopped,
        case
            when s.manual_effect = 'stop' then 'manual'
            when s.last_stop_at is null and s.soft_stop_at is null then null
            when s.last_stop_at is null or s.soft_stop_at > s.last_stop_at then 'soft_bounces'
            else s.first_stop ->> 'type'
        end as reason,
        s.last_stop_at,
        s.last_lift_at,
        s.manual_effect,
        s.manual_at,
        s.manual_by,
        s.manual_reason,
        case
            when s.manual_effect = 'stop' then null
            when s.last_stop_at is null or s.soft_stop_at > s.last_stop_at then s.soft_stop
            else s.first_stop
        end as evidence
    from suppressions s
    where (
        coalesce(
            least(s.first_stop_at, s.soft_stop_at, case when s.manual_effect = 'stop' then s.manual_at end), '-infinity'
        ),
        s.address,
        s.scope
    ) < (cast(:at as timestamptz), cast(:address as text), cast(:scope as text))
    order by 3 desc, s.address desc, s.scope desc
    limit cast(:walk as integer)
),

found as (
    select *
    from walked
    where (cast(:active as text) = '' or stopped = cast(nullif(cast(:active as text), '') as boolean))
        and (cast(:reason as text) = '' or reason = cast(:reason as text))
    order by since desc, address desc, scope desc
    limit cast(:most as integer)
)

select jsonb_build_object(
    'walked', (select count(*) from walked),
    'last', (select jsonb_build_array(since, address, scope) from walked order by since, address, scope limit 1),
    'items', coalesce((
        select jsonb_agg(
            to_jsonb(f) || jsonb_build_object('since', nullif(f.since, '-infinity'), 'place', f.since)
            order by f.since desc, f.address desc, f.scope desc
        )
        from found f
    ), '[]')
)
