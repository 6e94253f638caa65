-- erase_search: look through some blocks of a table for rows that may name an address.
select looked_at, found
from erase_search(
    cast(:table as text), cast(:first as bigint), cast(:until as bigint), cast(:near as text), cast(:pattern as text)
)
