-- Tell since when the oldest ready job of a queue has been due, and when the next one will be.
-- Params: queue, now.
select (select min(due_us) from (select min(due_us) as due_us from ns_job where queue = :queue and state = 'ready'
                                 union all
                                 select min(due_us) from ns_job
                                  where queue = :queue and state = 'scheduled' and due_us <= :now)),
       (select min(due_us) from ns_job where queue = :queue and state = 'scheduled' and due_us > :now)
