-- Read what settling needs to know of some jobs, last of all whether their queues flow.
-- Params: a JSON list of job ids.
select id, seq, state, token, due_us, failures, crashes, crash_budget, cancel_asked, deliveries, generation, worker,
       claimed_us, keep_done_s, keep_dead_s, result_ttl_s, expires_us, reason, error, traceback, queue, lane,
       lane is not null or (select is_flowing from ns_queue where name = queue)
  from ns_job
 where id in (select value from json_each(?))
