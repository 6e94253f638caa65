-- replay_hold_suppressions: lock the suppressions that changed events touched or touch, in the order of the fold.
-- One that is not there yet is put there empty: it too is locked in its turn.
insert into suppressions as s (address, scope)
select recipient, scope
from jsonb_to_recordset(cast(:readings as jsonb)) as r (recipient text, scope text, effect text)
where effect is not null and recipient is not null
group by 1, 2
order by recipient collate "C", scope collate "C"
on conflict (address, scope) do update set scope = excluded.scope
returning jsonb_build_object(
    'address', new.address, 'scope', new.scope, 'was_suppressed', coalesce(is_suppressed(old), false)
)
