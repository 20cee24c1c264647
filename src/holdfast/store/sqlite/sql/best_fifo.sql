-- Find the best ready jobs of one lane, the longest due first among equals.
-- Params: queue, lane (null for jobs without one), now, limit.
select seq from ns_job
 where queue = :queue and lane is :lane and state = 'ready'
   and (expires_us is null or expires_us > :now)  -- a slice of expired ones may be left over
 order by priority desc, due_us, seq
 limit :limit
