-- Renew a lease, keep what the worker says of itself, and tell what people want of it.
-- Params: worker, now, report (null: as before).
-- Guarantee: an ended lease stays ended, and gives no row.
-- Sorted by `seq + 0`: by `seq` the planner may walk over all jobs in that order, where it takes them for few.
with beaten as (
    update ns_worker
       set beat_us = now_us, report = coalesce(%(report)s::bytea, report)
      from (select ns_now(%(now)s) as now_us offset 0) as moment
     where id = %(worker)s and ended_us is null and beat_us + lease_us >= now_us
    returning id, is_leaving
)
select array(select token from ns_job where state = 'running' and worker = beaten.id and cancel_asked order by seq + 0),
       is_leaving
  from beaten
