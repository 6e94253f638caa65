-- read_schema_version: the newest migration that was applied.
select max(version) from schema_migrations
