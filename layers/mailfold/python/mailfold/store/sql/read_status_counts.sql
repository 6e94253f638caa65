-- read_status_counts: how many messages have each status, as far as a bounded number of events tells; `more` says at least.
-- A message counts where page_messages would list it: an event of the type that is its status lies in the time asked for.
with arrived as materialized (
    select e.message_id, e.recipient, e.source, e.type
    from email_events e
    where e.received_at >= cast(:since as timestamptz) and e.received_at < cast(:until as timestamptz)
    order by e.received_at desc
    limit cast(:walk as integer)
),

troubled as materialized (
    select e.message_id, e.recipient, e.source, t.type
    from unnest(array['deferred', 'bounced', 'dropped', 'complained', 'unsubscribed']) as t (type)
    cross join lateral (
        select e.message_id, e.recipient, e.source
        from email_events e
        where e.type = t.type and e.type in ('deferred', 'bounced', 'dropped', 'complained', 'unsubscribed')
            and e.received_at >= cast(:since as timestamptz) and e.received_at < cast(:until as timestamptz)
        order by e.received_at desc
        limit cast(:most as integer) + 1
    ) e
),

messages as (
    select distinct message_id, recipient, type
    from (select * from arrived union all select * from troubled) as events
    where message_id is not null and recipient is not null
        and may_see(cast(:sources as jsonb), source)
        and (cast(:source as text) = '' or source = cast(:source as text))
),

counted as (
    select s.type, s.bounce_class, count(*) as messages
    from messages m
    cross join lateral (
        select t.type, t.bounce_class
        from status_told(cast(:sources as jsonb), m.message_id, m.recipient) t
        limit 1
    ) s
    where s.type = m.type
    group by s.type, s.bounce_class
)

select jsonb_build_object(
    'status', r.type, 'bounce_class', nullif(r.bounce_class, ''),
    'messages', least(coalesce(c.messages, 0), cast(:most as integer)),
    'more', coalesce(c.messages, 0) > cast(:most as integer) or case
        when r.type in ('deferred', 'bounced', 'dropped', 'complained', 'unsubscribed')
            then (select count(*) from troubled t where t.type = r.type) > cast(:most as integer)
        else (select count(*) from arrived) = cast(:walk as integer)
    end
)
from status_ranks r
left join counted c on c.type = r.type and coalesce(c.bounce_class, '') = r.bounce_class
order by r.rank
