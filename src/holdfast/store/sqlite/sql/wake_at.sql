-- Tell a waiter when to look again: 0 if a job may be claimable, else when the earliest may be.
-- Params: queues, a JSON list, or null for all.
-- Cost: a few seeks a queue, whatever the backlog.
select min(case
           when not q.is_flowing and exists (select 1 from ns_job where queue = q.name and state = 'ready') then 0
           when q.is_flowing and exists (select 1 from ns_news where queue = q.name) then 0
           else (select min(at_us) from (
                   select min(due_us) as at_us from ns_job where queue = q.name and state = 'scheduled'
                   union all
                   -- Null if the queue waits for an event, or no lane is open or timed.
                   select max(q.opens_us, case
                          when exists (select 1 from ns_lane where queue = q.name and gate = 'open') then 0
                          else (select min(rank) from ns_lane where queue = q.name and gate = 'timed') end)
                    where q.is_flowing))
           end)
  from ns_queue q
 where not q.is_paused and (:queues is null or q.name in (select value from json_each(:queues)))
