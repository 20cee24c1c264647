-- Keep a queue's policy, declared and overlaid, and what comes of both: the order and the bound.
-- Params: queue, declared, overlay, is_lifo, max_size.
update ns_queue
   set declared = %(declared)s, overlay = %(overlay)s, is_lifo = %(is_lifo)s, max_size = %(max_size)s, size = null
 where name = %(queue)s
