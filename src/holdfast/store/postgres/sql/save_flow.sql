-- Keep what limits remember of a queue, and when it may start a job as a whole.
-- Params: queue, flow, opens.
update ns_queue
   set flow = %(flow)s, opens_us = %(opens)s
 where name = %(queue)s and (flow, opens_us) is distinct from (%(flow)s::text, %(opens)s::bigint)
