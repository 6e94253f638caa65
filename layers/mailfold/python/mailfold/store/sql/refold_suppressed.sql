-- refold_suppressed: which of some addresses are suppressed, and in which scopes.
select jsonb_build_array(address, scope)
from suppressed
where address = any(array(select jsonb_array_elements_text(cast(:addresses as jsonb))))
order by address, scope
