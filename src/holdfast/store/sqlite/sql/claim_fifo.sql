-- Hand up to :limit ready jobs of one queue without lanes to one worker, the longest due first among equals.
-- Params: queue, limit, worker, nonce, now.
-- Guarantee: a job goes to at most one caller; its delivery is charged in the same commit.
update ns_job
   set state = 'running', worker = :worker, token = (deliveries + 1) || '-' || :nonce || printf('%x', seq),
       deliveries = deliveries + 1, claimed_us = :now, progress = null, progress_note = null
 where seq in (select seq from ns_job
                where queue = :queue and lane is null and state = 'ready'
                  and (expires_us is null or expires_us > :now)  -- a slice of expired ones may be left over
                order by priority desc, due_us, seq
                limit :limit)
returning priority, due_us, seq, id, token, queue, task, envelope, seal, failures, crashes, crash_budget, claimed_us, due_us
