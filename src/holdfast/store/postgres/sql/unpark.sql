-- Make parked jobs ready.
-- Params: ids, seals: lists; a seal that is null leaves the job's as it is.
with asked as (
    select job.seq, given.seal
      from ns_job as job join unnest(%(ids)s::text[], %(seals)s::bytea[]) as given (id, seal) using (id)
     where state = 'parked'
     order by job.seq
       for no key update of job
)
update ns_job as job
   set state = 'ready', reason = null, error = null, traceback = null, seal = coalesce(asked.seal, job.seal)
  from asked
 where job.seq = asked.seq and state = 'parked'
returning id
