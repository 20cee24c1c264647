-- Tell since when the oldest ready job of a queue has been due, when the next one will be,
-- whether it is paused, and how many pushes it has refused.
-- Params: queue, now.
select (select min(due_us) from (select min(due_us) as due_us from ns_job where queue = :queue and state = 'ready'
                                 union all
                                 select min(due_us) from ns_job
                                  where queue = :queue and state = 'scheduled' and due_us <= :now)),
       (select min(due_us) from ns_job where queue = :queue and state = 'scheduled' and due_us > :now),
       (select is_paused from ns_queue where name = :queue),
       (select refused from ns_queue where name = :queue)
