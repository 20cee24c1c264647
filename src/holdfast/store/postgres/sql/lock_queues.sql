-- Lock some queues, read what is kept of them, and the time once they are locked.
-- Params: queues, now.
-- Guarantee: locks by name, as everyone does. Who holds a queue's lock is the only one who serves it or changes its lanes.
select name, declared, overlay, flow, is_flowing, ns_now(%(now)s)
  from (select *
          from ns_queue
         where name = any (%(queues)s::text[])
         order by name
           for update) as held
