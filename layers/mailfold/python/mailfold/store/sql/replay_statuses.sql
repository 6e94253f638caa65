-- replay_statuses: bring the statuses that are held to what supports them: stored events, and times of pruned ones.
-- A time that no changed event had must be that of a pruned event, and is kept.
with keys as (
    select *
    from jsonb_to_recordset(cast(:keys as jsonb)) as k (
        message_id text, recipient text, type text, bounce_class text, is_new boolean
    )
),

gone as (
    select
        message_id, recipient, type, coalesce(bounce_class, '') as bounce_class,
        array_agg(occurred_at) as times, array_agg(received_at) as arrivals
    from jsonb_to_recordset(cast(:was as jsonb)) as w (
        message_id text, recipient text, type text, bounce_class text, occurred_at timestamptz, received_at timestamptz
    )
    group by 1, 2, 3, 4
),

stored as (
    select
        k.message_id, k.recipient, k.type, k.bounce_class,
        min(e.occurred_at) as first_at, max(e.occurred_at) as last_at, max(e.received_at) as received_at
    from keys k
    join email_events e
        on e.message_id = k.message_id and e.recipient = k.recipient and e.type = k.type
        and coalesce(e.bounce_class, '') = k.bounce_class
    group by 1, 2, 3, 4
),

kept as (
    select
        k.*,
        s.first_at as old_first_at,
        s.last_at as old_last_at,
        s.received_at as old_received_at,
        case when s.first_at = any(g.times) then null else nullif(s.first_at, 'infinity') end as first_at,
        case when s.last_at = any(g.times) then null else nullif(s.last_at, '-infinity') end as last_at,
        case when s.received_at = any(g.arrivals) then null else nullif(s.received_at, '-infinity') end as received_at
    from keys k
    join message_status s using (message_id, recipient, type, bounce_class)
    left join gone g using (message_id, recipient, type, bounce_class)
),

settled as (
    select
        message_id, recipient, type, bounce_class, k.is_new, k.old_first_at, k.old_last_at,
        least(k.first_at, k.last_at, s.first_at) as first_at,
        greatest(k.first_at, k.last_at, s.last_at) as last_at,
        coalesce(greatest(k.received_at, s.received_at), k.old_received_at) as received_at
    from kept k
    left join stored s using (message_id, recipient, type, bounce_class)
),

removed as (
    delete from message_status s
    using settled t
    where (s.message_id, s.recipient, s.type, s.bounce_class) = (t.message_id, t.recipient, t.type, t.bounce_class)
      and t.first_at is null
),

moved as (
    update message_status s
    set first_at = t.first_at, last_at = t.last_at, received_at = t.received_at
    from settled t
    where (s.message_id, s.recipient, s.type, s.bounce_class) = (t.message_id, t.recipient, t.type, t.bounce_class)
      and t.first_at is not null
),

announced as (
    insert into outbox_staging (changes)
    select jsonb_agg(
        jsonb_build_object(
            'topic', 'status_changed',
            'key', message_id,
            'body', jsonb_build_object(
                'message_id', message_id, 'recipient', recipient, 'type', type,
                'bounce_class', nullif(bounce_class, ''), 'occurred_at', first_at
            )
        )
        order by message_id, first_at, recipient, type, bounce_class
    )
    from settled
    where is_new and first_at is not null and cast(:publish as boolean)
    having count(*) > 0
)

select jsonb_build_object(
    'message_id', message_id, 'recipient', recipient, 'type', type, 'bounce_class', nullif(bounce_class, ''),
    'change', case when is_new then 'added' when first_at is null then 'removed' else 'moved' end
)
from settled
where case
    when is_new then first_at is not null
    else first_at is null or (first_at, last_at) <> (old_first_at, old_last_at)
end
order by message_id, recipient, type, bounce_class
