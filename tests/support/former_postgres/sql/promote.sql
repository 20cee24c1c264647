-- Make due jobs of one queue ready, the earliest first.
-- Params: queue, now, limit.
-- Guarantee: bounded; what is left over is promoted by the next claim.
with due as (
    select seq
      from ns_job
     where queue = %(queue)s and state = 'scheduled' and due_us <= %(now)s
     order by due_us, seq
     limit %(limit)s
       for no key update skip locked
)
update ns_job as job set state = 'ready' from due where job.seq = due.seq
