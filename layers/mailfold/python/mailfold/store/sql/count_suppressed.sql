-- count_suppressed: how many addresses are suppressed now, each scope counted.
select count(*) from suppressed
