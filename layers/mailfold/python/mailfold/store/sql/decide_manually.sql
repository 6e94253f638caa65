-- decide_manually: enter a person's decision about an address; the later one wins.
with decided as (
    insert into suppressions as s (address, scope, manual_effect, manual_at, manual_by, manual_reason)
    values (
        cast(:address as text), cast(:scope as text), cast(:effect as text),
        cast(:decided_at as timestamptz), cast(:decided_by as text), cast(:reason as text)
    )
    on conflict (address, scope) do update set
        (manual_effect, manual_at, manual_by, manual_reason) =
            (excluded.manual_effect, excluded.manual_at, excluded.manual_by, excluded.manual_reason)
    where s.manual_at is null or (excluded.manual_at, excluded.manual_by) >= (s.manual_at, s.manual_by)
    returning
        new.address, new.scope, new.manual_by, new.manual_reason, new.manual_at,
        coalesce(is_suppressed(old), false) as was_suppressed,
        is_suppressed(new) as is_suppressed
),

announced as (
    insert into outbox_staging (changes)
    select jsonb_build_array(
        jsonb_build_object(
            'topic', case when is_suppressed then 'address_suppressed' else 'suppression_lifted' end,
            'key', address,
            'body', jsonb_build_object(
                'address', address, 'scope', scope,
                'because', jsonb_build_object(
                    'type', 'manual', 'by', manual_by, 'reason', manual_reason, 'occurred_at', manual_at
                )
            )
        )
    )
    from decided
    where was_suppressed <> is_suppressed and cast(:publish as boolean)
)

select address from decided
