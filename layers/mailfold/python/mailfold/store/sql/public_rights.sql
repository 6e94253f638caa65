-- public_rights: what PUBLIC may do in a new database and must not in this one; safe to run again.
do $$
declare
    routine regprocedure;
begin
    -- Whoever has temporary objects can put types and tables of their own in front of ours.
    execute format('revoke temporary on database %I from public', current_database());
    -- On RDS these belong to the server's own superuser, so that the owner cannot take them away (docs/security.md).
    for routine in
        select p.oid
        from pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace
            and p.proname ~ '^(lo_|loread$|lowrite$)'
            and pg_has_role(p.proowner, 'usage')
    loop
        execute format('revoke execute on function %s from public', routine);
    end loop;
end
$$;
