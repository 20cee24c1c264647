-- Tell the highest priority below a bound that a ready job of one queue without lanes has.
-- Params: queue, below, now.
select max(priority)
  from ns_job
 where queue = %(queue)s and lane = '' and state = 'ready' and priority < %(below)s
   and (expires_us is null or expires_us > %(now)s)
