-- Read what settling needs to know of some jobs.
-- Params: a JSON list of job ids.
select id, seq, state, token, due_us, failures, crashes, crash_budget, cancel_asked, deliveries, generation, worker,
       claimed_us, keep_done_s, keep_dead_s, result_ttl_s, expires_us, reason, error, traceback
  from ns_job
 where id in (select value from json_each(?))
