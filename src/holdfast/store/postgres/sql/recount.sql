-- Count how many jobs have yet to start in a queue that has a bound and is locked.
-- Params: queue.
-- Answer: as that of `grow`.
-- Cost: the size. Where a job comes or goes on the job path, the number is moved on instead.
update ns_queue
   set size = (select count(*) from ns_job where queue = %(queue)s and state = 'ready')
            + (select count(*) from ns_job where queue = %(queue)s and state = 'scheduled')
            + (select count(*) from ns_job where queue = %(queue)s and state = 'waiting')
 where name = %(queue)s and max_size is not null
returning max_size - size, (select true from ns_job where queue = %(queue)s and state = 'spilled' limit 1) is not null
