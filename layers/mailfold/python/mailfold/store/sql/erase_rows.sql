-- erase_rows: about how many rows the tables have that may name a person, as of their last analysis.
select cast(coalesce(sum(greatest(reltuples, 0)), 0) as bigint)
from pg_class
where relkind = 'r' and relnamespace = cast('public' as regnamespace)
  and relname in (select jsonb_array_elements_text(cast(:tables as jsonb)))
