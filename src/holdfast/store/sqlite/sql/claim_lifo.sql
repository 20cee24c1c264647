-- Hand up to :limit ready jobs of one priority of one queue without lanes to one worker, the last due first.
-- Params: queue, priority, limit, worker, nonce, now.
-- Guarantee: as claim_fifo; read backwards over the same index, which is why it takes one priority at a time.
update ns_job
   set state = 'running', worker = :worker, token = (deliveries + 1) || '-' || :nonce || printf('%x', seq),
       deliveries = deliveries + 1, claimed_us = :now, progress = null, progress_note = null
 where seq in (select seq from ns_job
                where queue = :queue and lane is null and state = 'ready' and priority = :priority
                  and (expires_us is null or expires_us > :now)  -- a slice of expired ones may be left over
                order by due_us desc, seq desc
                limit :limit)
returning priority, due_us, seq, id, token, queue, task, envelope, seal, failures, crashes, crash_budget, claimed_us, due_us
