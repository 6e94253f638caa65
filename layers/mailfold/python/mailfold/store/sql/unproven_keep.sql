-- unproven_keep: of the unproven contents that came under claims which this transaction holds, return those that are
-- kept, and count the others on their claims. The first under a claim is kept whatever its size.
with given as (
    select g.claim_key, g.dead_letter_id, g.bytes, d.dead_letter_id is not null as known
    from jsonb_to_recordset(cast(:contents as jsonb)) as g (
        claim_key text collate "C", dead_letter_id text collate "C", bytes bigint
    )
    left join dead_letters d on d.dead_letter_id = g.dead_letter_id
),

kept as (
    select g.claim_key, count(d.dead_letter_id) as contents, coalesce(sum(octet_length(d.raw)), 0) as bytes
    from (select distinct claim_key from given) g
    left join dead_letters d on d.claim_key = g.claim_key and d.unproven
    group by g.claim_key
),

placed as (
    select
        g.claim_key, g.dead_letter_id,
        k.contents + row_number() over small_first as place,
        k.bytes + sum(g.bytes) over small_first as bytes_with_it
    from given g
    join kept k on k.claim_key = g.claim_key
    where not g.known
    window small_first as (partition by g.claim_key order by g.bytes, g.dead_letter_id)
),

judged as (
    select
        claim_key, dead_letter_id,
        place = 1 or (place <= cast(:most_contents as integer) and bytes_with_it <= cast(:most_bytes as bigint)) as is_kept
    from placed
),

counted as (
    update claims w
    set not_kept = coalesce(w.not_kept, 0) + s.surplus
    from (select claim_key, count(*) as surplus from judged where not is_kept group by claim_key) s
    where w.claim_key = s.claim_key
)

select dead_letter_id from given where known
union all
select dead_letter_id from judged where is_kept
