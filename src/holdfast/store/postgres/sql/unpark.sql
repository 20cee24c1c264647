-- Make parked jobs ready. Claims are told.
-- Params: now; ids, seals: lists; a seal that is null leaves the job's as it is.
with asked as (
    select job.seq, given.seal
      from ns_job as job join unnest(%(ids)s::text[], %(seals)s::bytea[]) as given (id, seal) using (id)
     where state = 'parked'
     order by job.seq
       for no key update of job
), ready as (
    update ns_job as job
       set state = 'ready', reason = null, error = null, traceback = null, seal = coalesce(asked.seal, job.seal)
      from asked
     where job.seq = asked.seq and state = 'parked'
    returning id, queue, lane
), told as (
    insert into ns_lane_news (queue, lane, kind, at_us, value)
    select distinct queue, lane, 'came', (select ns_now(%(now)s)), 1
      from ready
     where (select is_flowing from ns_queue where name = queue)
)
select id from ready
