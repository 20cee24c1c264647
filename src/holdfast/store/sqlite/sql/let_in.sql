-- Let spilled jobs into their queue, the best first. Only now does their own time to expire count.
-- Params: queue, limit.
update ns_job
   set state = 'scheduled', expires_us = own_expires_us, own_expires_us = null
 where seq in (select seq from ns_job
                where queue = :queue and state = 'spilled'
                order by priority desc, seq
                limit :limit)
