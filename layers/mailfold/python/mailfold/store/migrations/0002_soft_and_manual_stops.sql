-- Stops that no single event makes: soft bounces in a row, and a person's hand.

-- A bounce that the message caused never counts against the address.
alter table email_events add column message_fault boolean not null default false;

-- The history of an address, for the sweep and for whoever asks.
create index email_events_recipient on email_events (recipient, occurred_at) where recipient is not null;

alter table suppressions
    add column soft_suppress_at  timestamptz,
    add column soft_suppress     jsonb,
    add column manual_effect text check (manual_effect in ('suppress', 'lift')),
    add column manual_at     timestamptz,
    add column manual_by     text,
    add column manual_reason text;

drop view suppressed;
drop function is_suppressed(timestamptz, timestamptz);

-- Whether an address is suppressed. A manual suppression holds until a manual lift; a manual lift lifts what came before it.
-- At the same instant a stop outweighs a lift, being safer.
create function is_suppressed(s suppressions) returns boolean
language sql immutable parallel safe
return coalesce(s.manual_effect = 'suppress', false) or coalesce(
    greatest(s.last_suppress_at, s.soft_suppress_at) >= coalesce(
        greatest(s.last_lift_at, case when s.manual_effect = 'lift' then s.manual_at end), '-infinity'
    ),
    false
);

-- The addresses that must not be mailed now.
create view suppressed as
select
    s.address,
    s.scope,
    least(s.first_suppress_at, s.soft_suppress_at, case when s.manual_effect = 'suppress' then s.manual_at end) as since,
    case
        when s.manual_effect = 'suppress' then 'manual'
        when s.last_suppress_at is null or s.soft_suppress_at > s.last_suppress_at then 'soft_bounces'
        else s.first_suppress ->> 'type'
    end as reason,
    case
        when s.manual_effect = 'suppress'
            then jsonb_build_object('by', s.manual_by, 'reason', s.manual_reason, 'occurred_at', s.manual_at)
        when s.last_suppress_at is null or s.soft_suppress_at > s.last_suppress_at then s.soft_suppress
        else s.first_suppress
    end as evidence,
    s.last_suppress_at,
    s.last_suppress
from suppressions s
where is_suppressed(s);
