-- audit: note what a person did manually; an address in its erased form only.
insert into audit_log (by_whom, action, subject, details)
values (
    cast(:by_whom as text), cast(:action as text),
    case when cast(:address as text) <> '' then erased_form(cast(:address as text)) end,
    cast(:details as jsonb)
)
