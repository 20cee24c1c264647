-- List the queues that have lanes which may be forgotten.
-- Params: now.
select name
  from ns_queue
 where is_flowing
   and ((select true from ns_lane where queue = name and gate = 'idle' and rank <= ns_now(%(now)s) limit 1) is not null
        or (select true from ns_lane where queue = name and gate = 'rested' limit 1) is not null)
 order by name
