-- End a lease for ever.
-- Params: worker, now.
-- Guarantee: waits for a claim of that worker which is under way, so that what it took is seen.
update ns_worker
   set ended_us = ns_now(%(now)s)
 where id = (select id from ns_worker where id = %(worker)s and ended_us is null for update)
