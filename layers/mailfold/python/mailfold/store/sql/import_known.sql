-- import_known: of these rows, how many are stored already, and how many addresses are suppressed there already.
select
    count(*) filter (where exists (select from email_events e where e.event_id = i.event_id)) as known,
    count(*) filter (where exists (
        select from suppressions s
        where s.address in (i.address, erased_form(i.address)) and s.scope = i.scope and is_suppressed(s)
    )) as suppressed
from jsonb_to_recordset(cast(:rows as jsonb)) as i (event_id text, address text, scope text)
