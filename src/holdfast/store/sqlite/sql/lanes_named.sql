-- Tell of lanes by their names: what is kept, whether a job is ready, how many run.
-- Params: queue; names, a JSON list; counts: 0 if nobody asks how many run.
select n.value, l.gate, ifnull(l.rank, 0), l.flow,
       exists (select 1 from ns_job where queue = :queue and lane is nullif(n.value, '') and state = 'ready'),
       case when :counts then (select count(*) from ns_job
                                where queue = :queue and lane is nullif(n.value, '') and state = 'running')
            else 0 end
  from json_each(:names) n
  left join ns_lane l on l.queue = :queue and l.lane = n.value
