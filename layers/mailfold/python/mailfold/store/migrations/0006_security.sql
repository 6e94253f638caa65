-- What an outside review of the store's security asked for (docs/security.md).

-- Functions that run as the owner.

-- Dead letters that failed an authenticity check.
alter table dead_letters add column unproven boolean not null default false;

-- Mailgun signs a token and nothing of the event: another event under a used token is not proven.
update dead_letters set unproven = true where provider = 'mailgun' and kind = 'claim_conflict';

-- A group is counted, with how many of it are unproven, from the index alone.
drop index dead_letters_group;
create index dead_letters_group on dead_letters (group_id, created_at, dead_letter_id) include (unproven);

-- How many contents of one claim are kept already.
create index dead_letters_unproven on dead_letters (claim_key) where unproven;

-- How many unproven payloads under this key were counted and not kept; null where there was none.
alter table webhook_inbox add column not_kept integer;

-- Tokens.

-- What a token may see; null for what every source said. The scopes of a token that is there stay as they are: read no
-- longer includes the raw payloads, which need the scope raw.
alter table api_tokens add column sources text[];

-- Whether a token that is bound to sources may see what a source said; null in JSON is a token that is not bound.
create function may_see(sources jsonb, source text) returns boolean
language sql immutable parallel safe
return sources = 'null' or sources ? source;

-- The status of a message for a recipient as the sources of a token tell it; current_status is what all of them tell.
create function status_told(sources jsonb, told_message text, told_recipient text)
returns table (type text, bounce_class text, first_at timestamptz, last_at timestamptz)
language sql stable parallel safe
begin atomic
    select c.type, c.bounce_class, c.first_at, c.last_at
    from current_status c
    where sources = 'null' and c.message_id = told_message and c.recipient = told_recipient
    union all
    (
        select e.type, e.bounce_class, min(e.occurred_at), max(e.occurred_at)
        from email_events e
        join status_ranks r on r.type = e.type and r.bounce_class = coalesce(e.bounce_class, '')
        where sources <> 'null' and sources ? e.source
            and e.message_id = told_message and e.recipient = told_recipient
        group by e.type, e.bounce_class, r.rank
        order by r.rank desc
        limit 1
    );
end;

-- Erase.

-- Records whose worker died.
