-- Hand these jobs of a flowing queue to one worker.
-- Params: seqs, worker, nonce, now.
-- Guarantee: as claim_fifo. Called only for jobs that the same transaction has found ready and locked.
update ns_job
   set state = 'running', worker = %(worker)s, token = (deliveries + 1) || '-' || %(nonce)s || to_hex(seq),
       deliveries = deliveries + 1, claimed_us = %(now)s, progress = null, progress_note = null
 where seq = any (%(seqs)s::bigint[])
returning seq, id, token, queue, task, envelope, seal, failures, crashes, crash_budget, claimed_us, due_us
