-- Drop a slice of the results that end before their job's record does.
-- Params: now, limit.
with stale as (
    select seq
      from ns_job
     where result is not null and result_until_us < keep_until_us and result_until_us <= %(now)s
     limit %(limit)s
       for no key update skip locked
)
update ns_job as job set result = null from stale where job.seq = stale.seq
