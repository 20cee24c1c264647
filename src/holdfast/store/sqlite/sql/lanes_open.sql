-- Read the next open lanes, the lowest turn first.
-- Params: queue; rank and name of the last one read; limit; counts: 0 if nobody asks how many jobs run.
-- Cost: that of the lanes it gives, however many there are.
select l.lane, l.gate, l.rank, l.flow, 1,
       case when :counts then (select count(*) from ns_job
                                where queue = :queue and lane is nullif(l.lane, '') and state = 'running')
            else 0 end
  from ns_lane l
 where l.queue = :queue and l.gate = 'open' and (l.rank, l.lane) > (:rank, :name)
 order by l.rank, l.lane
 limit :limit
