-- page_messages_of: one page of the messages to one address, each at its newest event, the newest first.
-- As page_messages, but in the order in which the events happened, which is the order of the address's own index.
with page as (
    select
        coalesce(cast(nullif(cast(:snapshot as text), '') as pg_snapshot), pg_current_snapshot()) as snapshot,
        array[cast(:address as text), erased_form(cast(:address as text))] as names
),

walked as materialized (
    select found.*
    from page p
    cross join lateral unnest(p.names) as who (name)
    cross join lateral (
        select
            e.xmin as version, e.event_id, e.message_id, e.recipient, e.source, e.type, e.bounce_class,
            e.occurred_at, e.received_at, e.reason
        from email_events e
        where e.recipient = who.name
            and e.occurred_at >= cast(:since as timestamptz) and e.occurred_at < cast(:until as timestamptz)
            and (e.occurred_at, e.event_id) < (cast(:at as timestamptz), cast(:id as text))
        order by e.occurred_at desc, e.event_id desc
        limit cast(:walk as integer)
    ) found
    order by found.occurred_at desc, found.event_id desc
    limit cast(:walk as integer)
),

newest as (
    select distinct on (w.message_id, w.recipient) w.*
    from walked w
    cross join page p
    where w.message_id is not null
        and may_see(cast(:sources as jsonb), w.source)
        and (cast(:source as text) = '' or w.source = cast(:source as text))
        and (cast(:status as text) = '' or w.type = cast(:status as text))
        and was_seen(w.version, p.snapshot)
    order by w.message_id, w.recipient, w.occurred_at desc, w.event_id desc
),

found as (
    select n.*, s.type as status, s.bounce_class as status_class, s.first_at
    -- Sorted before, and limited within, so that each status is looked up by its key and only until the page is full.
    from (select * from newest order by occurred_at desc, event_id desc) n
    left join lateral (
        select t.* from status_told(cast(:sources as jsonb), n.message_id, n.recipient) t limit 1
    ) s on true
    where (cast(:status as text) = '' or s.type = cast(:status as text))
        and (cast(:bounce_class as text) = '' or s.bounce_class = cast(:bounce_class as text))
        -- An earlier page had it, at a newer event.
        and not (cast(:snapshot as text) <> '' and exists (
            select
            from email_events e
            cross join page p
            where e.message_id = n.message_id and e.recipient = n.recipient
                and e.occurred_at < cast(:until as timestamptz)
                and (e.occurred_at, e.event_id) >= (cast(:at as timestamptz), cast(:id as text))
                and may_see(cast(:sources as jsonb), e.source)
                and (cast(:source as text) = '' or e.source = cast(:source as text))
                and (cast(:status as text) = '' or e.type = cast(:status as text))
                and was_seen(e.xmin, p.snapshot)
        ))
    order by n.occurred_at desc, n.event_id desc
    limit cast(:most as integer)
),

-- What comes before each item on the page, in bytes; the page ends where there are too many of them.
measured as (
    select
        f.*,
        sum(octet_length(coalesce(f.reason, ''))) over (order by f.occurred_at desc, f.event_id desc)
        - octet_length(coalesce(f.reason, '')) as bytes_before
    from found f
)

select jsonb_build_object(
    'snapshot', cast(p.snapshot as text),
    'walked', (select count(*) from walked),
    'found', (select count(*) from found),
    'last', (
        select jsonb_build_array(w.occurred_at, w.event_id) from walked w order by w.occurred_at, w.event_id limit 1
    ),
    'items', coalesce((
        select jsonb_agg(
            jsonb_build_object(
                'message_id', f.message_id, 'recipient', f.recipient, 'status', f.status,
                'bounce_class', f.status_class, 'since', f.first_at, 'source', f.source,
                'event', jsonb_build_object(
                    'event_id', f.event_id, 'type', f.type, 'bounce_class', f.bounce_class,
                    'occurred_at', f.occurred_at, 'received_at', f.received_at, 'reason', f.reason
                )
            )
            order by f.occurred_at desc, f.event_id desc
        )
        from measured f
        where f.bytes_before < cast(:most_bytes as bigint)
    ), '[]')
)
from page p
