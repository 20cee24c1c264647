-- Tell when the earliest job of the unpaused queues is or was due, ready ones included.
-- Params: queues, a list, or null for all.
select min(least((select min(due_us) from ns_job where queue = name and state = 'ready'),
                 (select min(due_us) from ns_job where queue = name and state = 'scheduled')))
  from ns_queue
 where not is_paused and (%(queues)s::text[] is null or name = any (%(queues)s::text[]))
