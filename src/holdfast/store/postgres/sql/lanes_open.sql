-- Read the next open lanes, the lowest turn first.
-- Params: queue; rank and name of the last one read; limit; counts: false if nobody asks how many jobs run.
-- Cost: that of the lanes it gives, however many there are.
select lane, gate, rank, flow, true,
       case when %(counts)s then (select count(*) from ns_job
                                   where queue = %(queue)s and lane = kept.lane and state = 'running')
            else 0 end
  from ns_lane as kept
 where queue = %(queue)s and gate = 'open' and (rank, lane) > (%(rank)s, %(name)s)
 order by rank, lane
 limit %(limit)s
