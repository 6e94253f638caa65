-- connections_limit: give each login role the most connections that it may have at once.
do $$
declare
    given record;
begin
    for given in
        select role, most
        from jsonb_each_text(cast(current_setting('mailfold.connection_limits') as jsonb)) as l (role, most)
    loop
        execute format('alter role %I connection limit %s', given.role, cast(given.most as integer));
    end loop;
end
$$;
