-- Read blocks of approximate sets.
-- Params: queues, blocks: lists.
select known.queue, known.block, known.bits
  from unnest(%(queues)s::text[], %(blocks)s::bigint[]) as given (queue, block)
       join ns_seen_block as known on known.queue = given.queue and known.block = given.block
