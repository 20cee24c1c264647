-- Tell all there is to see of one queue: its policy, its jobs by the state a reader should see (each counted from the
-- index of that state), since when the oldest ready job has been due, and when the next one will be.
-- Params: queue, now.
select is_lifo, is_paused,
       (select count(*) from ns_job where queue = name and state = 'ready')
           + (select count(*) from ns_job where queue = name and state = 'scheduled' and due_us <= now_us),
       (select count(*) from ns_job where queue = name and state = 'scheduled' and due_us > now_us),
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
