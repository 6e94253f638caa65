-- read_audit_of: what people decided about one address, newest first.
select jsonb_build_object('at', at, 'by', by_whom, 'action', action, 'details', details)
from audit_log
where subject = erased_form(cast(:address as text))
order by audit_id desc
limit cast(:most as integer)
