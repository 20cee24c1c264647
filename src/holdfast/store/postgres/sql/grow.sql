-- Move on the size of a queue that has a bound and is locked.
-- Params: queue, by.
-- Answer: how many more jobs may enter, and whether any is spilled. No row if there is no bound.
update ns_queue
   set size = size + %(by)s
 where name = %(queue)s and max_size is not null
returning max_size - size, (select true from ns_job where queue = %(queue)s and state = 'spilled' limit 1) is not null
