-- Write back blocks of approximate sets that the same transaction has locked.
-- Params: queues, blocks, added, bits: lists.
update ns_seen_block as known
   set added = known.added + given.added, bits = given.bits
  from unnest(%(queues)s::text[], %(blocks)s::bigint[], %(added)s::bigint[], %(bits)b::bytea[])
       as given (queue, block, added, bits)
 where known.queue = given.queue and known.block = given.block
