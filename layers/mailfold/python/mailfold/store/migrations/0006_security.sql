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

-- Erase.

-- Records whose worker died.
