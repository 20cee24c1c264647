-- Tell a waiter when to look again: 0 if something is ready, else when the earliest scheduled job is due.
-- Params: queues, a JSON list, or null for all.
-- Cost: two seeks a queue, whatever the backlog.
select min(case when exists (select 1 from ns_job where queue = q.name and state = 'ready') then 0
                else (select min(due_us) from ns_job where queue = q.name and state = 'scheduled') end)
  from ns_queue q
 where not q.is_paused and (:queues is null or q.name in (select value from json_each(:queues)))
