-- Cancel a job in whose place another is stored.
-- Params: now, now again, reason, id.
-- Guarantee: called only for jobs that were found not to have started, under the same write lock.
update ns_job
   set state = 'cancelled', finished_us = ?, keep_until_us = ? + keep_dead_s * 1000000, reason = ?
 where id = ?
