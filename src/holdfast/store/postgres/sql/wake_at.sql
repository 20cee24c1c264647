-- Tell a waiter when to look again: 0 if something may be claimable, else when the earliest job may be; the time; and which of
-- `shelved` are not paused.
-- Params: queues, a list, or null for all; now; shelved: queues whose ready jobs are known otherwise (see `shelf`).
-- Cost: a few seeks a queue, whatever the backlog. Not `exists`: see `look`.
select min(case when not is_flowing then
                    case when name <> all (%(shelved)s::text[])
                          and (select true from ns_job where queue = name and state = 'ready' limit 1) then 0
                         else (select min(due_us) from ns_job where queue = name and state = 'scheduled') end
                when (select true from ns_lane_news where queue = name limit 1) then 0
                when (select true from ns_job where queue = name and lane = '' and state = 'ready' limit 1)
                 and (select true from ns_lane
                       where queue = name and lane = '' and gate in ('open', 'timed', 'shut')) is null then 0
                else least((select min(due_us) from ns_job where queue = name and state = 'scheduled'),
                           -- Null if the queue waits for an event, or no lane is open or timed.
                           (select greatest(opens_us, first_us)
                              from (select case
                                    when (select true from ns_lane where queue = name and gate = 'open' limit 1) then 0
                                    else (select min(rank) from ns_lane where queue = name and gate = 'timed')
                                    end as first_us) as lanes
                             where opens_us is not null and first_us is not null))
           end),
       ns_now(%(now)s),
       coalesce(array_agg(name) filter (where name = any (%(shelved)s::text[]) and not is_flowing), '{}')
  from ns_queue
 where not is_paused and (%(queues)s::text[] is null or name = any (%(queues)s::text[]))
