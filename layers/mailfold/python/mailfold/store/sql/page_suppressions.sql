-- page_suppressions: one page of the addresses that are or were suppressed, the newest first stop first.
-- A bounded number of rows is looked at by an index, so a page may be short: `last` says where the next one begins.
with walked as materialized (
    select
        s.address,
        s.scope,
        coalesce(
            least(s.first_suppress_at, s.soft_suppress_at, case when s.manual_effect = 'suppress' then s.manual_at end), '-infinity'
        ) as since,
        is_suppressed(s) as suppressed,
        case
            when s.manual_effect = 'suppress' then 'manual'
            when s.last_suppress_at is null and s.soft_suppress_at is null then null
            when s.last_suppress_at is null or s.soft_suppress_at > s.last_suppress_at then 'soft_bounces'
            else s.first_suppress ->> 'type'
        end as reason,
        s.last_suppress_at,
        s.last_lift_at,
        s.manual_effect,
        s.manual_at,
        s.manual_by,
        s.manual_reason,
        array[s.first_suppress ->> 'source', s.last_suppress ->> 'source', s.last_lift ->> 'source'] as told_by,
        case
            when s.manual_effect = 'suppress' then null
            when s.last_suppress_at is null or s.soft_suppress_at > s.last_suppress_at then s.soft_suppress
            else s.first_suppress
        end as evidence
    from suppressions s
    where (
        coalesce(
            least(s.first_suppress_at, s.soft_suppress_at, case when s.manual_effect = 'suppress' then s.manual_at end), '-infinity'
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
    where (cast(:active as text) = '' or suppressed = cast(nullif(cast(:active as text), '') as boolean))
        and (cast(:reason as text) = '' or reason = cast(:reason as text))
        -- A bound token is told of the addresses that its sources have said something of.
        and (
            cast(:sources as jsonb) = 'null'
            or cast(:sources as jsonb) ?| told_by
            -- Not exists: that might be answered from all events at once.
            or coalesce((
                select true
                from email_events e
                where e.recipient = walked.address collate "default" and may_see(cast(:sources as jsonb), e.source)
                limit 1
            ), false)
        )
    order by since desc, address desc, scope desc
    limit cast(:most as integer)
),

-- What comes before each item on the page, in bytes; the page ends where there are too many of them.
measured as (
    select
        f.*,
        sum(coalesce(octet_length(cast(f.evidence as text)), 0)) over (order by f.since desc, f.address desc, f.scope desc)
        - coalesce(octet_length(cast(f.evidence as text)), 0) as bytes_before
    from found f
)

select jsonb_build_object(
    'walked', (select count(*) from walked),
    'found', (select count(*) from found),
    'last', (select jsonb_build_array(since, address, scope) from walked order by since, address, scope limit 1),
    'items', coalesce((
        select jsonb_agg(
            jsonb_build_object(
                'address', f.address, 'scope', f.scope, 'since', nullif(f.since, '-infinity'), 'suppressed', f.suppressed,
                'reason', f.reason, 'last_suppress_at', f.last_suppress_at, 'last_lift_at', f.last_lift_at,
                'manual_effect', f.manual_effect, 'manual_at', f.manual_at, 'manual_by', f.manual_by,
                'manual_reason', f.manual_reason, 'evidence', f.evidence, 'place', f.since
            )
            order by f.since desc, f.address desc, f.scope desc
        )
        from measured f
        where f.bytes_before < cast(:most_bytes as bigint)
    ), '[]')
)
