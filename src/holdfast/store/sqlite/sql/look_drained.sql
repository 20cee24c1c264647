-- Learn of some queues what it takes to know whether they have drained.
-- Params: queues, a JSON list.
-- Answer: of each that is there: its name, what is kept of it, whether any job of it runs, and whether any has yet to start, but
--         for those that are parked.
-- Cost: a few seeks a queue.
select name, declared, overlay, flow, is_flowing,
       exists (select 1 from ns_job where queue = name and state = 'running'),
       exists (select 1 from ns_job where queue = name and state = 'ready')
           or exists (select 1 from ns_job where queue = name and state = 'scheduled')
           or exists (select 1 from ns_job where queue = name and state = 'waiting')
           or exists (select 1 from ns_job where queue = name and state = 'spilled')
  from ns_queue
 where name in (select value from json_each(:queues))
