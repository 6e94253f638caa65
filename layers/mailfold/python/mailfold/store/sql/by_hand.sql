-- by_hand: enter a person's decision about an address; the later one wins.
insert into suppressions as s (address, scope, manual_effect, manual_at, manual_by, manual_reason)
values (
    cast(:address as text), cast(:scope as text), cast(:effect as text),
    cast(:decided_at as timestamptz), cast(:decided_by as text), cast(:reason as text)
)
on conflict (address, scope) do update set
    (manual_effect, manual_at, manual_by, manual_reason) =
        (excluded.manual_effect, excluded.manual_at, excluded.manual_by, excluded.manual_reason)
where s.manual_at is null or (excluded.manual_at, excluded.manual_by) >= (s.manual_at, s.manual_by)
returning s.address
