-- Lock blocks of approximate sets, and read them.
-- Params: queues, blocks: lists.
-- Guarantee: locks in one order, as everyone does: after jobs.
select known.queue, known.block, known.bits
  from unnest(%(queues)s::text[], %(blocks)s::bigint[]) as given (queue, block)
       join ns_seen_block as known on known.queue = given.queue and known.block = given.block
 order by known.queue, known.block
   for no key update of known
