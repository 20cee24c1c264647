-- Open the next generation of finished jobs: same id, fresh budgets, ready now, history kept. Claims are told.
-- Params: ids, now.
-- Guarantee: touches only jobs that ended as failed, cancelled or expired, and whose key nobody has: the keys are locked, and each is
-- asked for once.
with asked as (
    select seq
      from ns_job
     where id = any (%(ids)s::text[]) and state in ('failed', 'cancelled', 'expired')
     order by seq
       for no key update
), ready as (
    update ns_job as job
       set state = 'ready', due_us = ns_now(%(now)s), generation = generation + 1, failures = 0, crashes = 0,
           cancel_asked = false, reason = null, error = null, traceback = null, result = null, result_until_us = null,
           finished_us = null, keep_until_us = null, expires_us = null, progress = null, progress_note = null
      from asked
     where job.seq = asked.seq and state in ('failed', 'cancelled', 'expired')
       and (key is null or (select true from ns_job as holder
                             where holder.queue = job.queue and holder.key = job.key and holder.key is not null
                               and holder.keep_until_us is null and holder.state <> 'waiting') is null)
    returning id, queue, lane
), told as (
    insert into ns_lane_news (queue, lane, kind, at_us, value)
    select distinct queue, lane, 'came', (select ns_now(%(now)s)), 1
      from ready
     where (select is_flowing from ns_queue where name = queue)
)
select id from ready
