-- Count how many jobs have yet to start in a queue that has a bound.
-- Params: queue.
-- Cost: the size. Where a job comes or goes on the job path, the number is moved on instead.
update ns_queue
   set size = (select count(*) from ns_job where queue = :queue and state = 'ready')
            + (select count(*) from ns_job where queue = :queue and state = 'scheduled')
            + (select count(*) from ns_job where queue = :queue and state = 'waiting')
 where name = :queue and max_size is not null
