-- Tell of lanes by their names: what is kept, whether a job is ready, how many run.
-- Params: queue; names; counts: false if nobody asks how many run.
select asked.lane, kept.gate, coalesce(kept.rank, 0), kept.flow,
       (select true from ns_job where queue = %(queue)s and lane = asked.lane and state = 'ready' limit 1) is not null,
       case when %(counts)s then (select count(*) from ns_job
                                   where queue = %(queue)s and lane = asked.lane and state = 'running')
            else 0 end
  from unnest(%(names)s::text[]) as asked (lane)
       left join ns_lane as kept on kept.queue = %(queue)s and kept.lane = asked.lane
