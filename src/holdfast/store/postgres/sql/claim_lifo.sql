-- Hand up to :limit ready jobs of one priority of one queue that does not flow to one worker, the last due first.
-- Params: queue, priority, limit, worker, nonce, now.
-- Guarantee: as claim_fifo; read backwards over the same index, which is why it takes one priority at a time.
with best as (
    select seq
      from ns_job
     where queue = %(queue)s and lane = '' and state = 'ready' and priority = %(priority)s
       and not (select is_flowing from ns_queue where name = %(queue)s)  -- it may have begun to since the look
       and (expires_us is null or expires_us > %(now)s)  -- a slice of expired ones may be left over
     order by due_us desc, seq desc
     limit %(limit)s
       for no key update skip locked
)
update ns_job as job
   set state = 'running', worker = %(worker)s, token = (deliveries + 1) || '-' || %(nonce)s || to_hex(job.seq),
       deliveries = deliveries + 1, claimed_us = %(now)s, progress = null, progress_note = null
  from best
 where job.seq = best.seq
returning priority, due_us, job.seq, id, token, queue, task, envelope, seal, failures, crashes, crash_budget,
          claimed_us, due_us
