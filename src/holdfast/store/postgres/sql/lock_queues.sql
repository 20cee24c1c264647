-- Lock some queues, read what is kept of them, and the time once they are locked.
-- Params: queues; bounded: those of them that are to be locked only if they have a bound; now.
-- Guarantee: locks by name, as everyone does. Who holds a queue's lock is the only one who serves it, changes its lanes or its
-- size.
select name, declared, overlay, flow, is_flowing, max_size, size, ns_now(%(now)s)
  from (select *
          from ns_queue
         where name = any (%(queues)s::text[]) and (max_size is not null or name <> all (%(bounded)s::text[]))
         order by name
           for update) as held
