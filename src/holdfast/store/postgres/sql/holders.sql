-- Find and lock the unfinished jobs that have, or wait for, some keys, which are locked.
-- Params: queues, keys: lists.
-- Guarantee: locks in order of arrival, as everyone does. A job that ends at this moment is waited for, and is then none.
select queue, key, id, state, version, seen_digest
  from ns_job
 where seq = any (array(select job.seq
                          from unnest(%(queues)s::text[], %(keys)s::text[]) as given (queue, key)
                               join ns_job as job on job.queue = given.queue and job.key = given.key
                                and job.key is not null and job.keep_until_us is null and job.state <> 'waiting'
                        union all
                        select job.seq
                          from unnest(%(queues)s::text[], %(keys)s::text[]) as given (queue, key)
                               join ns_job as job on job.queue = given.queue and job.key = given.key
                                and job.state = 'waiting'))
   and keep_until_us is null
 order by seq
   for no key update
