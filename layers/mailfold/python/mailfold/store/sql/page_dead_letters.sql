-- page_dead_letters: one page of the dead letters of one group, the newest first, without their raw.
with found as (
    select
        d.dead_letter_id, d.group_id, d.kind, d.reason, d.source, d.provider, d.received_at, d.created_at, d.unproven
    from dead_letters d
    where d.group_id = cast(:group_id as text) and may_see(cast(:sources as jsonb), d.source)
        and (d.created_at, d.dead_letter_id) < (cast(:at as timestamptz), cast(:id as text))
    order by d.created_at desc, d.dead_letter_id desc
    limit cast(:most as integer)
),

-- What comes before each dead letter on the page, in bytes; the page ends where there are too many of them.
measured as (
    select
        f.*,
        sum(octet_length(f.reason)) over (order by f.created_at desc, f.dead_letter_id desc)
        - octet_length(f.reason) as bytes_before
    from found f
)

select jsonb_build_object(
    'found', (select count(*) from found),
    'items', coalesce((
        select jsonb_agg(
            jsonb_build_object(
                'dead_letter_id', m.dead_letter_id, 'group_id', m.group_id, 'kind', m.kind, 'reason', m.reason,
                'source', m.source, 'provider', m.provider, 'received_at', m.received_at,
                'created_at', m.created_at, 'unproven', m.unproven
            )
            order by m.created_at desc, m.dead_letter_id desc
        )
        from measured m
        where m.bytes_before < cast(:most_bytes as bigint)
    ), '[]')
)
