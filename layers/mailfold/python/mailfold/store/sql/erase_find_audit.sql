-- erase_find_audit: look through the next rows of audit_log for what may name an address.
-- Who gave the order is kept: that is a person of ours, not a recipient.
with page as (
    select *
    from audit_log
    where audit_id > cast(cast(:after as jsonb) ->> 'audit_id' as bigint)
    order by audit_id
    limit cast(:page as integer)
)

select
    (select count(*) from page) as looked_at,
    (select jsonb_build_object('audit_id', p.audit_id) from page p order by p.audit_id desc limit 1) as last,
    (
        select coalesce(jsonb_agg(cast(to_jsonb(p) - 'by_whom' as text)), '[]')
        from page p
        where cast(to_jsonb(p) - 'by_whom' as text) ~* cast(:pattern as text)
    ) as found
