-- preload_statuses: the statuses that folding the events of preload_events would leave, one for each of them.
set synchronous_commit = off;
insert into message_status (message_id, recipient, type, first_at, last_at, received_at)
select
    left(message, 22),
    left(message, 10) || '@example.com',
    (array['processed', 'delivered', 'opened'])[n % 3 + 1],
    received_at - interval '2 seconds',
    received_at - interval '2 seconds',
    received_at
from
    generate_series(0, :rows - 1) as n,
    lateral (
        select
            md5('message' || n / 3) as message,
            timestamptz :'now' - interval '30 days' * (1 - n / cast(:rows as double precision)) as received_at
    ) as drawn;
set maintenance_work_mem = '512MB';
alter table message_status add primary key (message_id, recipient, type, bounce_class) with (fillfactor = 70);
create index message_status_received_at on message_status using brin (received_at) with (pages_per_range = 32);
