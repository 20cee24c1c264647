-- End jobs of one queue that have not started in time.
-- Params: queue, now, limit.
-- Answer: a row for each; its key, if it had one, and the digest that is to be forgotten, if there is one.
-- Guarantee: a job that has ever truly run has no `expires_us` any more, so it is never touched.
update ns_job
   set state = 'expired', finished_us = :now, keep_until_us = :now + keep_dead_s * 1000000, reason = 'expired'
 where seq in (select seq from ns_job
                where queue = :queue and expires_us <= :now and expires_us is not null
                  and state in ('waiting', 'scheduled', 'ready', 'parked', 'spilled')
                order by expires_us
                limit :limit)
returning key, seen_digest
