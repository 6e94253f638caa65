-- count_suppressed: how many addresses are stopped now, each scope counted.
select count(*) from suppressed
