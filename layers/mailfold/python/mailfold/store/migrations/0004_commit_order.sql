-- Changes are numbered in the order in which their transactions commit (docs/decisions/0061).

-- What a transaction is about to announce: written and deleted inside it, so nobody ever sees a row and none need
-- outlive a crash.
create unlogged table outbox_staging (
    staging_id bigint generated always as identity primary key,
    changes         jsonb not null
);

-- Runs inside commit. Whoever has the lock draws its numbers, commits and lets go; it never waits for a client.
create function announce() returns trigger
language plpgsql security definer set search_path = pg_catalog, public as $$
begin
    perform pg_advisory_xact_lock(7245361904);
    insert into public.outbox (topic, key, body)
    select topic, key, body
    from rows from (jsonb_to_recordset(new.changes) as (topic text, key text, body jsonb))
        with ordinality as change (topic, key, body, place)
    order by place;
    delete from public.outbox_staging where staging_id = new.staging_id;
    return null;
end
$$;

revoke all on function announce() from public;

create constraint trigger announce after insert on outbox_staging
deferrable initially deferred for each row execute function announce();
