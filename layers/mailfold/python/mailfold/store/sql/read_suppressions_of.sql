-- read_suppressions_of: why one address is or was suppressed, in every scope, whether or not its person was erased.
select to_jsonb(s) || jsonb_build_object('suppressed', is_suppressed(s))
from suppressions s
where s.address in (cast(:address as text), erased_form(cast(:address as text)))
order by s.scope
