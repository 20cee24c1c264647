-- Learn in one look what a claim on one queue has to do.
-- Params: queue, now.
-- Answer: order and pause of the queue; whether anything has expired, is due, or is parked; whether the queue flows, and
--         whether it has a bound.
select is_lifo, is_paused,
       exists (select 1 from ns_job where queue = :queue and expires_us <= :now and expires_us is not null
                  and state in ('waiting', 'scheduled', 'ready', 'parked', 'spilled')),
       exists (select 1 from ns_job where queue = :queue and state = 'scheduled' and due_us <= :now),
       exists (select 1 from ns_job where queue = :queue and state = 'parked'),
       is_flowing, max_size is not null
  from ns_queue
 where name = :queue
