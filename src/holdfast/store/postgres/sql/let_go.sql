-- Have the successors that wait for some keys take them over, if nobody has them any more. Each keeps the time it was pushed
-- for.
-- Params: queues, keys: lists.
-- Guarantee: called in the transaction that ended the job which had the key, by a statement of its own: who pushed a successor
-- has held that job, so the successor is seen.
update ns_job as job
   set state = 'scheduled'
  from unnest(%(queues)s::text[], %(keys)s::text[]) as given (queue, key)
 where job.queue = given.queue and job.key = given.key and job.state = 'waiting'
   and (select true from ns_job as holder
         where holder.queue = given.queue and holder.key = given.key
           and holder.key is not null and holder.keep_until_us is null and holder.state <> 'waiting') is null
