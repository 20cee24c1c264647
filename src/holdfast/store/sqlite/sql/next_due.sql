-- Tell when the earliest job of the unpaused queues is or was due, ready ones included.
-- Params: queues, a JSON list, or null for all.
select min((select min(due_us) from (
              select min(due_us) as due_us from ns_job where queue = q.name and state = 'ready'
              union all
              select min(due_us) from ns_job where queue = q.name and state = 'scheduled')))
  from ns_queue q
 where not q.is_paused and (:queues is null or q.name in (select value from json_each(:queues)))
