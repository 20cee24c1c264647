-- Lock a slice of the jobs of one queue and one final state whose retention is over.
-- Params: queue, state, now, limit.
select seq
  from ns_job
 where queue = %(queue)s and state = %(state)s and keep_until_us is not null and keep_until_us <= %(now)s
 order by keep_until_us
 limit %(limit)s
   for update skip locked
