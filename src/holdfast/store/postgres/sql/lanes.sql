-- Tell all there is to see of the lanes of one queue, at one moment.
-- Params: queue, now.
-- Answer: what is kept of the queue, the time, and three JSON lists: lanes with their flows; lanes with their numbers of ready
-- and of running jobs; the news that change what limits remember.
select declared, overlay, flow, is_flowing, ns_now(%(now)s),
       coalesce((select json_agg(json_build_array(lane, kept.flow)) from ns_lane as kept where queue = name), '[]'),
       coalesce((select json_agg(json_build_array(lane, ready, running))
                   from (select lane, sum(ready) as ready, sum(running) as running
                           from (select lane, count(*) as ready, 0 as running
                                   from ns_job where queue = name and state = 'ready' group by lane
                                 union all
                                 select lane, 0, count(*)
                                   from ns_job where queue = name and state = 'running' group by lane) as part
                          group by lane) as counted), '[]'),
       coalesce((select json_agg(json_build_array(id, lane, kind, at_us, value) order by id)
                   from ns_lane_news where queue = name and (kind = 'came') = false), '[]')
  from ns_queue
 where name = %(queue)s
