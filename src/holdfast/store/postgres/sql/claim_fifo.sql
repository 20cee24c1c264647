-- Hand up to :limit ready jobs of one queue that does not flow to one worker, the longest due first among equals.
-- Params: queue, limit, worker, nonce, now.
-- Guarantee: a job goes to at most one caller (who locks a row has it, others pass it over); its delivery is charged in
-- the same commit.
with best as (
    select seq
      from ns_job
     where queue = %(queue)s and lane = '' and state = 'ready'
       and not (select is_flowing from ns_queue where name = %(queue)s)  -- it may have begun to since the look
       and (expires_us is null or expires_us > %(now)s)  -- a slice of expired ones may be left over
     order by priority desc, due_us, seq
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
