-- Tell a waiter when to look again: 0 if something is ready, else when the earliest scheduled job is due; the time; and which of `shelved` are
-- not paused.
-- Params: queues, a list, or null for all; now; shelved: queues whose ready jobs are known otherwise (see `shelf`).
-- Cost: two seeks a queue, whatever the backlog. Not `exists`: see `look`.
select min(case when name <> all (%(shelved)s::text[])
                 and (select true from ns_job where queue = name and state = 'ready' limit 1) then 0
                else (select min(due_us) from ns_job where queue = name and state = 'scheduled') end),
       ns_now(%(now)s), coalesce(array_agg(name) filter (where name = any (%(shelved)s::text[])), '{}')
  from ns_queue
 where not is_paused and (%(queues)s::text[] is null or name = any (%(queues)s::text[]))
