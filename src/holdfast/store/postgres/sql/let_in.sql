-- Let spilled jobs into their queue, the best first. Only now does their own time to expire count.
-- Params: queue; limit, or null for all.
with chosen as (
    select seq
      from ns_job
     where queue = %(queue)s and state = 'spilled'
     order by priority desc, seq
     limit %(limit)s
       for no key update skip locked
)
update ns_job as job
   set state = 'scheduled', expires_us = own_expires_us, own_expires_us = null
  from chosen
 where job.seq = chosen.seq
returning 1
