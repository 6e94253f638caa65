-- erase_search_tables: the tables that can hold a text, as the catalogs know them, and how large they are.
select jsonb_build_object(
    'name', c.relname,
    'rows', greatest(cast(c.reltuples as bigint), 0),
    'blocks', pg_relation_size(c.oid) / cast(current_setting('block_size') as bigint),
    'bytes', pg_table_size(c.oid)
)
from pg_class c
where c.relkind in ('r', 'm') and c.relnamespace = cast('public' as regnamespace)
  and exists (
      select
      from pg_attribute a
      join pg_type t on t.oid = a.atttypid
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        -- Neither numbers, times, truth values nor bytes.
        and t.typcategory not in ('N', 'D', 'T', 'B') and t.typname <> 'bytea'
  )
order by c.relname
