-- publish_alone: tell whether this transaction may publish; of two at once, one may.
-- A statement of its own: what it would read in the same one could be older than what the other run has committed.
select count(*) = 1 from (select only_row from publish_turn for update skip locked) as turn
