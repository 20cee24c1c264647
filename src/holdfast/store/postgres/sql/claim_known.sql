-- Hand those of some jobs of a queue that does not flow, if they are ready, to one worker.
-- Params: queue, seqs, worker, nonce, now.
-- Guarantee: as claim_fifo. The state is written so that no index of ready jobs is used: it may be long with the dead.
with best as (
    select seq
      from ns_job
     where seq = any (%(seqs)s::bigint[]) and state || '' = 'ready' and (expires_us is null or expires_us > %(now)s)
       and not (select is_flowing from ns_queue where name = %(queue)s)  -- it may have begun to since the look
       for no key update skip locked
)
update ns_job as job
   set state = 'running', worker = %(worker)s, token = (deliveries + 1) || '-' || %(nonce)s || to_hex(job.seq),
       deliveries = deliveries + 1, claimed_us = %(now)s, progress = null, progress_note = null
  from best
 where job.seq = best.seq
returning priority, due_us, job.seq, id, token, queue, task, envelope, seal, failures, crashes, crash_budget,
          claimed_us, due_us
