-- Count the ready and the running jobs of one queue, lane by lane.
-- Params: queue.
select ifnull(lane, ''), sum(ready), sum(running)
  from (select lane, count(*) as ready, 0 as running from ns_job where queue = :queue and state = 'ready' group by lane
        union all
        select lane, 0, count(*) from ns_job where queue = :queue and state = 'running' group by lane)
 group by lane
