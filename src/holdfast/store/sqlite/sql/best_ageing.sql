-- Find the best ready jobs of one priority of one lane, the longest due first.
-- Params: queue, lane (null for jobs without one), priority, now, limit.
select due_us, seq from ns_job
 where queue = :queue and lane is :lane and state = 'ready' and priority = :priority
   and (expires_us is null or expires_us > :now)  -- a slice of expired ones may be left over
 order by due_us, seq
 limit :limit
