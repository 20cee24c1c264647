-- Make due jobs of one queue ready, the earliest first.
-- Params: queue, now, limit.
-- Guarantee: bounded; what is left over is promoted by the next claim.
update ns_job
   set state = 'ready'
 where seq in (select seq from ns_job
                where queue = :queue and state = 'scheduled' and due_us <= :now
                order by due_us, seq
                limit :limit)
