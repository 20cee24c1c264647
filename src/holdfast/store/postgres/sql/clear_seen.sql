-- Drop a slice of a seen-set: of its keys, and of its blocks.
-- Params: queue; keys, blocks: how many at most.
-- Answer: for each row how many keys it stood for.
-- Guarantee: locks in one order, as everyone does.
with keys as (
    select digest from ns_seen where queue = %(queue)s order by digest limit %(keys)s for update
), gone as (
    delete from ns_seen as known using keys where queue = %(queue)s and known.digest = keys.digest returning 1
), blocks as (
    select block from ns_seen_block where queue = %(queue)s order by block limit %(blocks)s for update
), emptied as (
    delete from ns_seen_block as known using blocks where queue = %(queue)s and known.block = blocks.block returning added
)
select 1 from gone
union all
select added from emptied
