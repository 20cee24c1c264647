-- Tell when the earliest job of the unpaused queues is or was due, ready ones included.
-- Params: queues, a list, or null for all.
-- Cost: one seek a queue, and two for each priority that the ready jobs of each lane have, whatever the backlog: the first of
-- one priority leads to the first of the next, and that of the last to the next lane.
select min(earliest.due_us)
  from ns_queue
       cross join lateral (
           with recursive first as (
               (select lane, priority, due_us
                  from ns_job
                 where queue = name and state = 'ready'
                 order by lane, priority desc, due_us
                 limit 1)
               union all
               select next.lane, next.priority, next.due_us
                 from first
                      cross join lateral (
                          select *
                            from ((select lane, priority, due_us
                                     from ns_job
                                    where queue = name and lane = first.lane and state = 'ready' and priority < first.priority
                                    order by priority desc, due_us
                                    limit 1)
                                  union all
                                  (select lane, priority, due_us
                                     from ns_job
                                    where queue = name and lane > first.lane and state = 'ready'
                                    order by lane, priority desc, due_us
                                    limit 1)) as candidate
                           order by lane
                           limit 1
                      ) as next
           )
           select due_us from first
           union all
           (select due_us from ns_job where queue = name and state = 'scheduled' order by due_us limit 1)
       ) as earliest
 where not is_paused and (%(queues)s::text[] is null or name = any (%(queues)s::text[]))
