-- doctor_store: the facts about the database that tell whether it is well.
select jsonb_build_object(
    'now', clock_timestamp(),
    'migrations', (select coalesce(jsonb_object_agg(version, digest), '{}') from schema_migrations),
    'invalid_indexes', (
        select coalesce(jsonb_agg(cast(indexrelid as regclass)), '[]')
        from pg_index
        where not indisvalid
    ),
    'connections', (select count(*) from pg_stat_activity where backend_type = 'client backend'),
    'most_connections', cast(current_setting('max_connections') as integer),
    'connection_limits', (
        select jsonb_object_agg(rolname, rolconnlimit) from pg_roles where rolname ~ '^mailfold_' and rolcanlogin
    ),
    'dead_letters', (select count(*) from dead_letters),
    'outbox_waiting', (select count(*) from outbox where published_at is null),
    'outbox_seconds', (
        select cast(extract(epoch from now() - min(created_at)) as bigint) from outbox where published_at is null
    ),
    'oldest_event_days', (
        select cast(extract(epoch from now() - min(received_at)) / 86400 as integer) from email_events
    )
) as facts
