-- Tell all there is to see of one queue: what is kept of it, the time, the news that change what limits remember (a JSON
-- list), whether it is paused, how many pushes it has refused, its jobs by the state a reader should see (each counted from the
-- index of that state), since when the oldest ready job has been due, and when the next one will be.
-- Params: queue, now.
select declared, overlay, flow, is_flowing, now_us,
       coalesce((select json_agg(json_build_array(id, lane, kind, at_us, value) order by id)
                   from ns_lane_news where queue = name and (kind = 'came') = false), '[]'),
       is_paused, refused,
       (select count(*) from ns_job where queue = name and state = 'ready')
           + (select count(*) from ns_job where queue = name and state = 'scheduled' and due_us <= now_us),
       (select count(*) from ns_job where queue = name and state = 'scheduled' and due_us > now_us),
       (select count(*) from ns_job where queue = name and state = 'waiting'),
       (select count(*) from ns_job where queue = name and state = 'spilled'),
       (select count(*) from ns_job where queue = name and state = 'running'),
       (select count(*) from ns_job where queue = name and state = 'parked'),
       (select count(*) from ns_job where queue = name and state = 'succeeded' and keep_until_us is not null),
       (select count(*) from ns_job where queue = name and state = 'failed' and keep_until_us is not null),
       (select count(*) from ns_job where queue = name and state = 'cancelled' and keep_until_us is not null),
       (select count(*) from ns_job where queue = name and state = 'expired' and keep_until_us is not null),
       least((select min(due_us) from ns_job where queue = name and state = 'ready'),
             (select min(due_us) from ns_job where queue = name and state = 'scheduled' and due_us <= now_us)),
       (select min(due_us) from ns_job where queue = name and state = 'scheduled' and due_us > now_us)
  from (select ns_now(%(now)s) as now_us offset 0) as moment, ns_queue
 where name = %(queue)s
