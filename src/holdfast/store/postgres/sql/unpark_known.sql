-- Bring back jobs that were parked for an unknown task, for a worker that knows it.
-- Params: queue, worker, reason, limit.
-- Answer: the lanes of the jobs.
-- Guarantee: only tasks in the worker's own list; jobs parked for any other reason stay.
with known as (
    select seq
      from ns_job
     where queue = %(queue)s and state = 'parked' and reason = %(reason)s
       and task = any (array(select unnest(tasks) from ns_worker where id = %(worker)s))
     order by seq
     limit %(limit)s
       for no key update skip locked
)
update ns_job as job
   set state = 'ready', reason = null, error = null, traceback = null
  from known
 where job.seq = known.seq
returning lane
