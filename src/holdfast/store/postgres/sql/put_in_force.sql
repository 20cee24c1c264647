-- Keep a queue's policy, declared and overlaid, and the order that comes of both.
-- Params: queue, declared, overlay, is_lifo.
update ns_queue set declared = %(declared)s, overlay = %(overlay)s, is_lifo = %(is_lifo)s where name = %(queue)s
