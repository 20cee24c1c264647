-- Tell a waiter when to look again: 0 if something is ready, else when the earliest scheduled job is due; and the time.
-- Params: queues, a list, or null for all; now.
-- Cost: two seeks a queue, whatever the backlog. Not `exists`: see `look`.
select min(case when (select true from ns_job where queue = name and state = 'ready' limit 1) then 0
                else (select min(due_us) from ns_job where queue = name and state = 'scheduled') end),
       ns_now(%(now)s)
  from ns_queue
 where not is_paused and (%(queues)s::text[] is null or name = any (%(queues)s::text[]))
