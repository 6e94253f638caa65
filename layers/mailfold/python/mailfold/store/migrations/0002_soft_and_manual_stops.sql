-- Stops that no single event makes: soft bounces in a row, and a person's hand.

-- A bounce that the message caused never counts against the address.
alter table email_events add column blames_message boolean not null default false;

-- The history of an address, for the sweep and for whoever asks.
create index email_events_recipient on email_events (recipient, occurred_at) where recipient is not null;

alter table suppressions
    add column soft_stop_at  timestamptz,
    add column soft_stop     jsonb,
    add column manual_effect text check (manual_effect in ('stop', 'lift')),
    add column manual_at     timestamptz,
    add column manual_by     text,
    add column manual_reason text;

drop view suppressed;
drop function is_stopped(timestamptz, timestamptz);

-- Whether an address is stopped. A stop by hand holds until a lift by hand; a lift by hand lifts what came before it.
-- At the same instant a stop outweighs a lift, being safer.
create function is_stopped(s suppressions) returns boolean
language sql immutable parallel safe
return coalesce(s.manual_effect = 'stop', false) or coalesce(
    greatest(s.last_stop_at, s.soft_stop_at) >= coalesce(
        greatest(s.last_lift_at, case when s.manual_effect = 'lift' then s.manual_at end), '-infinity'
    ),
    false
);

-- The addresses that must not be mailed now.
create view suppressed as
select
    s.address,
    s.scope,
    least(s.first_stop_at, s.soft_stop_at, case when s.manual_effect = 'stop' then s.manual_at end) as since,
    case
        when s.manual_effect = 'stop' then 'manual'
        when s.last_stop_at is null or s.soft_stop_at > s.last_stop_at then 'soft_bounces'
        else s.first_stop ->> 'type'
    end as reason,
    case
        when s.manual_effect = 'stop'
            then jsonb_build_object('by', s.manual_by, 'reason', s.manual_reason, 'occurred_at', s.manual_at)
        when s.last_stop_at is null or s.soft_stop_at > s.last_stop_at then s.soft_stop
        else s.first_stop
    end as evidence,
    s.last_stop_at,
    s.last_stop
from suppressions s
where is_stopped(s);
