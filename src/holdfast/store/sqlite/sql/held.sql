-- Read what settling needs to know of some jobs, last of all of their queues: 1 if it flows, 2 more if it has a bound.
-- Params: a JSON list of job ids.
select id, seq, state, token, due_us, failures, crashes, crash_budget, cancel_asked, deliveries, generation, worker,
       claimed_us, keep_done_s, keep_dead_s, result_ttl_s, expires_us, reason, error, traceback,
       queue, lane, key, version, fresh_for_us, seen_digest, seen_ttl_us,
       (select is_flowing + 2 * (max_size is not null) from ns_queue where name = queue)
  from ns_job
 where id in (select value from json_each(?))
