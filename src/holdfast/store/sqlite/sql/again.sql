-- Open the next generation of a finished job: same id, fresh budgets, ready now, history kept.
-- Params: now, id.
-- Guarantee: touches only jobs that ended as failed, cancelled or expired, and whose key nobody has.
update ns_job
   set state = 'ready', due_us = ?, generation = generation + 1, failures = 0, crashes = 0, cancel_asked = 0,
       reason = null, error = null, traceback = null, result = null, result_until_us = null,
       finished_us = null, keep_until_us = null, expires_us = null, progress = null, progress_note = null
 where id = ? and state in ('failed', 'cancelled', 'expired')
   and (key is null or not exists (select 1 from ns_job h where h.queue = ns_job.queue and h.key = ns_job.key
                                      and h.key is not null and h.keep_until_us is null and h.state <> 'waiting'))
returning id, queue
