-- Cancel jobs in whose place others are stored.
-- Params: ids, reasons: lists; now.
-- Guarantee: called only for jobs that the same transaction has found not to have started, and locked.
update ns_job as job
   set state = 'cancelled', finished_us = %(now)s, keep_until_us = %(now)s + keep_dead_s * 1000000, reason = given.reason
  from unnest(%(ids)s::text[], %(reasons)s::text[]) as given (id, reason)
 where job.id = given.id
