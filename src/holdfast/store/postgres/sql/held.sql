-- Lock some jobs and read what settling needs to know of them, whether their queues flow and have a bound, and the time once they
-- are locked.
-- Params: ids, now.
-- Guarantee: locks in order of arrival, as everyone does: two that settle the same jobs do not wait for each other.
select id, seq, state, token, due_us, failures, crashes, crash_budget, cancel_asked, deliveries, worker,
       keep_done_s, keep_dead_s, result_ttl_s, expires_us, reason, error, traceback, queue, lane,
       (select is_flowing from ns_queue where name = queue), (select max_size is not null from ns_queue where name = queue),
       key, version, fresh_for_us, seen_digest, seen_ttl_us, ns_now(%(now)s)
  from (select *
          from ns_job
         where id = any (%(ids)s::text[])
         order by seq
           for no key update) as held
