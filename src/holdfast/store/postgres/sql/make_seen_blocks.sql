-- Make the blocks of approximate sets that are not there yet.
-- Params: queues, blocks: lists; bits: those of an empty one.
-- Guarantee: in one order, as everyone does.
insert into ns_seen_block (queue, block, added, bits)
select queue, block, 0, %(bits)b
  from unnest(%(queues)s::text[], %(blocks)s::bigint[]) as given (queue, block)
 where (select true from ns_seen_block as known where known.queue = given.queue and known.block = given.block) is null
 order by queue, block
on conflict (queue, block) do nothing
