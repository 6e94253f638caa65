-- roles: one login per function, each with no more than its step needs, and a role that query takes; safe to run again.
do $$
declare
    role_name text;
begin
    foreach role_name in array array[
        'mailfold_process', 'mailfold_prune', 'mailfold_sweep', 'mailfold_publish', 'mailfold_watch', 'mailfold_operate',
        'mailfold_query', 'mailfold_redrive'
    ] loop
        if not exists (select from pg_roles where rolname = role_name) then
            begin
                execute format('create role %I nologin', role_name);
            exception when duplicate_object or unique_violation then
                null; -- another database of the same server was migrated at the same moment
            end;
        end if;
        execute format('grant usage on schema public to %I', role_name);
        if role_name = 'mailfold_redrive' then
            alter role mailfold_redrive nologin;
            continue;
        end if;
        execute format('alter role %I login', role_name);
        -- RDS lets a role log in with an IAM token once it has this one; elsewhere it does not exist.
        if exists (select from pg_roles where rolname = 'rds_iam') then
            execute format('grant rds_iam to %I', role_name);
        end if;
    end loop;
end
$$;

grant select, insert on dead_letters to mailfold_process;
grant select, insert, update on email_events, message_status, suppressions, claims to mailfold_process;
-- Into the outbox nobody writes but the trigger of outbox_staging, which numbers changes in the order of commits.
grant insert on outbox_staging to mailfold_process;

grant select, delete on email_events, message_status, claims, dead_letters to mailfold_prune;
grant select on outbox to mailfold_prune;
grant execute on function prune_outbox(timestamptz, integer) to mailfold_prune;
grant select, insert, update on daily_totals to mailfold_prune;
-- SELECT ... FOR UPDATE asks for the right to update some column: the one that says whether a row may be deleted.
grant update (received_at) on message_status to mailfold_prune;
grant update (created_at) on claims, dead_letters to mailfold_prune;

grant select on email_events to mailfold_sweep;
grant select, insert, update on suppressions to mailfold_sweep;
grant insert on outbox_staging to mailfold_sweep;

grant select, update (published_at) on outbox to mailfold_publish;
grant select, update (only_row) on publish_turn to mailfold_publish;

-- No column that could name a recipient.
grant select (source, type, bounce_class, received_at) on email_events to mailfold_watch;
grant select (kind, created_at, unproven) on dead_letters to mailfold_watch;

-- What a person may do manually; every change of theirs leaves a line that nobody here can take back.
grant select on status_ranks, current_status, suppressed, daily_totals, schema_migrations, claims to mailfold_operate;
grant select, insert, update, delete on email_events, message_status, suppressions, dead_letters to mailfold_operate;
grant select, insert, update on claims to mailfold_operate;
-- Column by column: who may update a whole table may lock it, and with it every commit that announces.
grant select, update (key, body, published_at) on outbox to mailfold_operate;
grant select, insert on outbox_staging to mailfold_operate;
grant select, insert on audit_log to mailfold_operate;
grant execute on function erased_form(text) to mailfold_operate;
grant execute on function erase_search(text, bigint, bigint, text, text) to mailfold_operate;
-- Another content of an event of an erased person must not bring the address back.
grant execute on function erased_form(text) to mailfold_process;

-- What a person may do about tokens; the digests are no secret, but nobody else needs them.
grant select, insert, update on api_tokens to mailfold_operate;

-- Whoever asks over HTTP. GETs run read only on top of this; what may be changed is a manual suppression.
grant select on email_events, message_status, status_ranks, current_status, suppressions, suppressed to mailfold_query;
grant select on dead_letters, daily_totals, schema_migrations, api_tokens to mailfold_query;
grant insert, update (manual_effect, manual_at, manual_by, manual_reason) on suppressions to mailfold_query;
grant insert on outbox_staging, audit_log to mailfold_query;
-- Since when something waits, and not what.
grant select (outbox_id, created_at, published_at) on outbox to mailfold_query;
-- How many payloads were counted and not kept, and not what.
grant select (claim_key, not_kept) on claims to mailfold_query;
grant update (last_used_at) on api_tokens to mailfold_query;
grant execute on function erased_form(text) to mailfold_query;
grant execute on function erased_forms(text[]) to mailfold_query;

-- What it takes to fold dead letters again over HTTP: query takes this role for the transaction of a redrive. Updates
-- are given column by column: who may update a whole table may also lock it.
grant select, insert on email_events, message_status, suppressions, claims, dead_letters to mailfold_redrive;
grant update (fingerprint, source, provider, kind, type, bounce_class, effect, scope) on email_events to mailfold_redrive;
grant update (message_id, recipient, occurred_at, received_at, reason) on email_events to mailfold_redrive;
grant update (machine, payload, message_fault) on email_events to mailfold_redrive;
grant update (first_at, last_at, received_at) on message_status to mailfold_redrive;
grant update (first_suppress_at, first_suppress_event_id, first_suppress) on suppressions to mailfold_redrive;
grant update (last_suppress_at, last_suppress_event_id, last_suppress) on suppressions to mailfold_redrive;
grant update (last_lift_at, last_lift_event_id, last_lift) on suppressions to mailfold_redrive;
grant update (result, completed_at, not_kept) on claims to mailfold_redrive;
grant delete, update (reason) on dead_letters to mailfold_redrive;
grant select (version, applied_at) on schema_migrations to mailfold_redrive;
grant insert on outbox_staging, audit_log to mailfold_redrive;
grant execute on function erased_form(text) to mailfold_redrive;
grant mailfold_redrive to mailfold_query with inherit false, set true;

-- A frozen Lambda environment must not hold locks, and a statement must end before its function does.
alter role mailfold_process set statement_timeout = '20s';
alter role mailfold_process set lock_timeout = '10s';
alter role mailfold_process set idle_in_transaction_session_timeout = '30s';
alter role mailfold_prune set statement_timeout = '60s';
alter role mailfold_prune set lock_timeout = '2s';
alter role mailfold_prune set idle_in_transaction_session_timeout = '30s';
alter role mailfold_sweep set statement_timeout = '240s';
alter role mailfold_sweep set lock_timeout = '10s';
alter role mailfold_sweep set idle_in_transaction_session_timeout = '30s';
alter role mailfold_publish set statement_timeout = '20s';
alter role mailfold_publish set lock_timeout = '10s';
-- It waits for the bus between two statements.
alter role mailfold_publish set idle_in_transaction_session_timeout = '60s';
alter role mailfold_operate set statement_timeout = '50s';
alter role mailfold_operate set lock_timeout = '5s';
alter role mailfold_operate set idle_in_transaction_session_timeout = '30s';
alter role mailfold_watch set statement_timeout = '20s';
alter role mailfold_watch set lock_timeout = '2s';
alter role mailfold_watch set idle_in_transaction_session_timeout = '30s';
alter role mailfold_query set statement_timeout = '5s';
alter role mailfold_query set lock_timeout = '2s';
alter role mailfold_query set idle_in_transaction_session_timeout = '10s';

-- A frozen Lambda environment keeps its connection, and others may need it: one that is idle ends, and the next
-- transaction of its function opens another.
alter role mailfold_process set idle_session_timeout = '300s';
alter role mailfold_prune set idle_session_timeout = '60s';
alter role mailfold_sweep set idle_session_timeout = '60s';
alter role mailfold_publish set idle_session_timeout = '120s';
alter role mailfold_watch set idle_session_timeout = '60s';
alter role mailfold_operate set idle_session_timeout = '60s';
alter role mailfold_query set idle_session_timeout = '60s';
