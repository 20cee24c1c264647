-- List the lanes at one gate whose rank has been reached, the lowest first.
-- Params: queue, gate, up_to, limit.
select lane
  from ns_lane
 where queue = %(queue)s and gate = %(gate)s and rank <= %(up_to)s
 order by rank, lane
 limit %(limit)s
