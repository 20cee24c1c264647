-- Cancel one job: at once if it has not started, by asking if it runs.
-- Params: id, now.
-- Guarantee: a final job is left alone; a running one stays its worker's until that worker's verdict.
update ns_job
   set cancel_asked  = case when state = 'running' then 1 else cancel_asked end,
       finished_us   = case when state = 'running' then null else :now end,
       keep_until_us = case when state = 'running' then null else :now + keep_dead_s * 1000000 end,
       reason        = case when state = 'running' then reason else 'cancelled' end,
       state         = case when state = 'running' then state else 'cancelled' end
 where id = :id and keep_until_us is null
returning case when state = 'running' then 'asked' else 'cancelled' end, queue, key, seen_digest
