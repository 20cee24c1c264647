-- End jobs of one queue that have not started in time.
-- Params: queue, now, limit.
-- Answer: a row for each; its key, if it had one, and the digest that is to be forgotten, if there is one.
-- Guarantee: a job that has ever truly run has no `expires_us` any more, so it is never touched.
with late as (
    select seq
      from ns_job
     where queue = %(queue)s and expires_us <= %(now)s and expires_us is not null
       and state in ('waiting', 'scheduled', 'ready', 'parked', 'spilled')
     order by expires_us
     limit %(limit)s
       for no key update skip locked
)
update ns_job as job
   set state = 'expired', finished_us = %(now)s, keep_until_us = %(now)s + keep_dead_s * 1000000, reason = 'expired'
  from late
 where job.seq = late.seq
returning key, seen_digest
