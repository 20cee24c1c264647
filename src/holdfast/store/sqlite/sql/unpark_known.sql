-- Bring back jobs that were parked for an unknown task, for a worker that knows it.
-- Params: queue, worker, reason, limit.
-- Guarantee: only tasks in the worker's own list; jobs parked for any other reason stay.
update ns_job
   set state = 'ready', reason = null, error = null, traceback = null
 where seq in (select seq from ns_job
                where queue = :queue and state = 'parked' and reason = :reason
                  and task in (select value from json_each((select tasks from ns_worker where id = :worker)))
                order by seq
                limit :limit)
