-- Learn of some queues what it takes to know whether they have drained.
-- Params: queues.
-- Answer: of each that is there: its name, what is kept of it, whether any job of it runs, and whether any has yet to start, but
-- for those that are parked. Who asks with the queue's lock held sees what was committed before it was locked, and no job of
-- the queue starts meanwhile.
-- Cost: a few seeks a queue. Not `exists`: see `look`.
select name, declared, overlay, flow, is_flowing,
       (select true from ns_job where queue = name and state = 'running' limit 1) is not null,
       (select true from ns_job where queue = name and state = 'ready' limit 1) is not null
           or (select true from ns_job where queue = name and state = 'scheduled' limit 1) is not null
           or (select true from ns_job where queue = name and state = 'waiting' limit 1) is not null
           or (select true from ns_job where queue = name and state = 'spilled' limit 1) is not null
  from ns_queue
 where name = any (%(queues)s::text[])
