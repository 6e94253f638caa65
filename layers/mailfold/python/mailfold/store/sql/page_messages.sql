-- page_messages: one page of messages, each at the newest event that the filters let through, the newest first.
-- A bounded number of events is looked at by an index, so a page may be short: `last` says where the next one begins.
-- Every page sees the events that the first one saw, whatever has arrived since.
with page as (
    select coalesce(cast(nullif(cast(:snapshot as text), '') as pg_snapshot), pg_current_snapshot()) as snapshot
),

walked as materialized (
    select
        e.xmin as version, e.event_id, e.message_id, e.recipient, e.source, e.type, e.bounce_class,
        e.occurred_at, e.received_at, e.reason
    from email_events e
    where e.received_at >= cast(:since as timestamptz) and e.received_at < cast(:until as timestamptz)
        and (e.received_at, e.event_id) < (cast(:at as timestamptz), cast(:id as text))
        -- The types of email_events_trouble have that index; the plan is made when the value is known.
        and (cast(:trouble as text) = '' or e.type = cast(:trouble as text))
    order by e.received_at desc, e.event_id desc
    limit cast(:walk as integer)
),

newest as (
    select distinct on (w.message_id, w.recipient) w.*
    from walked w
    cross join page p
    where w.message_id is not null and w.recipient is not null
        and may_see(cast(:sources as jsonb), w.source)
        and (cast(:source as text) = '' or w.source = cast(:source as text))
        and (cast(:status as text) = '' or w.type = cast(:status as text))
        and was_seen(w.version, p.snapshot)
    order by w.message_id, w.recipient, w.received_at desc, w.event_id desc
),

found as (
    select n.*, s.type as status, s.bounce_class as status_class, s.first_at
    -- Sorted before, and limited within, so that each status is looked up by its key and only until the page is full.
    from (select * from newest order by received_at desc, event_id desc) n
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
                and e.received_at < cast(:until as timestamptz)
                and (e.received_at, e.event_id) >= (cast(:at as timestamptz), cast(:id as text))
                and may_see(cast(:sources as jsonb), e.source)
                and (cast(:source as text) = '' or e.source = cast(:source as text))
                and (cast(:status as text) = '' or e.type = cast(:status as text))
                and was_seen(e.xmin, p.snapshot)
        ))
    order by n.received_at desc, n.event_id desc
    limit cast(:most as integer)
),

-- What comes before each item on the page, in bytes; the page ends where there are too many of them.
measured as (
    select
        f.*,
        sum(octet_length(coalesce(f.reason, ''))) over (order by f.received_at desc, f.event_id desc)
        - octet_length(coalesce(f.reason, '')) as bytes_before
    from found f
)

select jsonb_build_object(
    'snapshot', cast(p.snapshot as text),
    'walked', (select count(*) from walked),
    'found', (select count(*) from found),
    'last', (
        select jsonb_build_array(w.received_at, w.event_id) from walked w order by w.received_at, w.event_id limit 1
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
            order by f.received_at desc, f.event_id desc
        )
        from measured f
        where f.bytes_before < cast(:most_bytes as bigint)
    ), '[]')
)
from page p
