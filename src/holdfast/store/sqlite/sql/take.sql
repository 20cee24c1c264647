-- Hand these jobs to one worker.
-- Params: seqs, a JSON list; worker, nonce, now.
-- Guarantee: as claim_fifo. Called only for jobs that were found ready under the same write lock.
update ns_job
   set state = 'running', worker = :worker, token = (deliveries + 1) || '-' || :nonce || printf('%x', seq),
       deliveries = deliveries + 1, claimed_us = :now, progress = null, progress_note = null
 where seq in (select value from json_each(:seqs))
returning seq, id, token, queue, task, envelope, seal, failures, crashes, crash_budget, claimed_us, due_us
