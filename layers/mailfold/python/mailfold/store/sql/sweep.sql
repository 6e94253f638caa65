-- sweep: stop the addresses whose soft bounces in a row have reached the limit, and release those delivered to since.
-- A function of the store alone: in whatever order the events came, the same rows result.
-- With addresses, of these only; null means all of them.
with bounces as (
    select recipient, event_id, occurred_at
    from email_events
    where type = 'bounced' and bounce_class = 'soft' and not message_fault and recipient is not null
      and (cast(:addresses as jsonb) = 'null' or recipient = any(array(
          select jsonb_array_elements_text(nullif(cast(:addresses as jsonb), 'null'))
      )))
),

engaged as (
    select recipient, max(occurred_at) as delivered_at
    from email_events
    where type in ('delivered', 'opened', 'clicked')
      and recipient in (
          select recipient from bounces
          union
          select address collate "default" from suppressions
          where soft_suppress_at is not null
            and (cast(:addresses as jsonb) = 'null' or address = any(array(
                select jsonb_array_elements_text(nullif(cast(:addresses as jsonb), 'null'))
            )))
      )
    group by recipient
),

runs as (
    select
        b.recipient as address,
        array_agg(b.event_id order by b.occurred_at, b.event_id collate "C") as event_ids,
        array_agg(b.occurred_at order by b.occurred_at, b.event_id collate "C") as times
    from bounces b
    left join engaged e using (recipient)
    where b.occurred_at > coalesce(e.delivered_at, '-infinity')
    group by b.recipient
),

suppressed as (
    insert into suppressions as s (address, scope, soft_suppress_at, soft_suppress)
    select
        address,
        '',
        times[cast(:soft_limit as integer)],
        jsonb_build_object(
            'type', 'soft_bounces', 'limit', cast(:soft_limit as integer), 'first_at', times[1],
            'occurred_at', times[cast(:soft_limit as integer)],
            'event_ids', to_jsonb(trim_array(event_ids, cardinality(event_ids) - cast(:soft_limit as integer)))
        )
    from runs
    where cardinality(event_ids) >= cast(:soft_limit as integer)
    order by address collate "C"
    on conflict (address, scope) do update set soft_suppress_at = excluded.soft_suppress_at, soft_suppress = excluded.soft_suppress
    where s.soft_suppress is distinct from excluded.soft_suppress
    returning
        new.address,
        coalesce(is_suppressed(old), false) as was_suppressed,
        is_suppressed(new) as is_suppressed,
        case
            when is_suppressed(new) then new.soft_suppress
            -- Late events can move a stop to before a lift.
            when new.manual_effect = 'lift' and new.manual_at >= coalesce(new.last_lift_at, '-infinity')
                then jsonb_build_object(
                    'type', 'manual', 'by', new.manual_by, 'reason', new.manual_reason, 'occurred_at', new.manual_at
                )
            else new.last_lift
        end as because
),

runs_before as (
    select
        s.address,
        cast(s.soft_suppress ->> 'first_at' as timestamptz) as first_at,
        bool_and(b.event_id is not null) as is_stored,
        coalesce(bool_or(b.type <> 'bounced' or b.bounce_class <> 'soft' or b.message_fault), false) as is_reread
    from suppressions s
    cross join lateral jsonb_array_elements_text(s.soft_suppress -> 'event_ids') as evidence (event_id)
    left join email_events b on b.event_id = evidence.event_id
    where s.scope = '' and s.soft_suppress_at is not null
      and (cast(:addresses as jsonb) = 'null' or s.address = any(array(
          select jsonb_array_elements_text(nullif(cast(:addresses as jsonb), 'null'))
      )))
    group by s.address, s.scope
),

released as (
    update suppressions s
    set soft_suppress_at = null, soft_suppress = null
    from runs_before b
    left join engaged e on e.recipient = b.address
    where s.address = b.address and s.scope = '' and s.soft_suppress_at is not null
      -- A run whose events are pruned stays. It ends with a delivery since it began, with another reading of one of its
      -- events, or with a limit that the whole of it does not reach.
      and (e.delivered_at >= b.first_at or b.is_reread or b.is_stored)
      and not exists (
          select from runs r where r.address = s.address and cardinality(r.event_ids) >= cast(:soft_limit as integer)
      )
    returning
        new.address,
        is_suppressed(old) as was_suppressed,
        is_suppressed(new) as is_suppressed,
        case
            when e.delivered_at >= b.first_at then jsonb_build_object('type', 'delivered', 'occurred_at', e.delivered_at)
            else jsonb_build_object('type', 'refolded', 'occurred_at', now())
        end as because
),

announced as (
    insert into outbox_staging (changes)
    select jsonb_agg(
        jsonb_build_object(
            'topic', case when is_suppressed then 'address_suppressed' else 'suppression_lifted' end,
            'key', address,
            'body', jsonb_build_object('address', address, 'scope', '', 'because', because)
        )
        order by address
    )
    from (select * from suppressed union all select * from released) as change
    where was_suppressed <> is_suppressed and cast(:publish as boolean)
    having count(*) > 0
)

select (select count(*) from suppressed) as suppressed, (select count(*) from released) as released
