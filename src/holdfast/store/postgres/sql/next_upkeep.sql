-- Tell when there will be something to expire or to prune.
-- Cost: a few seeks a queue.
select min(least((select min(expires_us) from ns_job where queue = name and expires_us is not null
                     and state in ('waiting', 'scheduled', 'ready', 'parked', 'spilled')),
                 (select min(keep_until_us) from ns_job
                   where queue = name and state = 'succeeded' and keep_until_us is not null),
                 (select min(keep_until_us) from ns_job
                   where queue = name and state = 'failed' and keep_until_us is not null),
                 (select min(keep_until_us) from ns_job
                   where queue = name and state = 'cancelled' and keep_until_us is not null),
                 (select min(keep_until_us) from ns_job
                   where queue = name and state = 'expired' and keep_until_us is not null)))
  from ns_queue
