-- Cancel jobs: at once those that have not started, by asking those that run.
-- Params: ids, now.
-- Guarantee: a final job is left alone; a running one stays its worker's until that worker's verdict.
with asked as (
    select seq from ns_job where id = any (%(ids)s::text[]) and keep_until_us is null order by seq for no key update
)
update ns_job as job
   set cancel_asked  = case when state = 'running' then true else cancel_asked end,
       finished_us   = case when state = 'running' then null else ns_now(%(now)s) end,
       keep_until_us = case when state = 'running' then null else ns_now(%(now)s) + keep_dead_s * 1000000 end,
       reason        = case when state = 'running' then reason else 'cancelled' end,
       state         = case when state = 'running' then state else 'cancelled' end
  from asked
 where job.seq = asked.seq and keep_until_us is null
returning id, case when state = 'running' then 'asked' else 'cancelled' end, queue, key, seen_digest
