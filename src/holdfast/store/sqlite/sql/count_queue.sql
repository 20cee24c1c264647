-- Count the jobs of one queue by the state a reader should see, each from the index of that state.
-- Params: queue, now.
select 'ready', (select count(*) from ns_job where queue = :queue and state = 'ready')
              + (select count(*) from ns_job where queue = :queue and state = 'scheduled' and due_us <= :now)
union all
select 'scheduled', count(*) from ns_job where queue = :queue and state = 'scheduled' and due_us > :now
union all
select 'waiting', count(*) from ns_job where queue = :queue and state = 'waiting'
union all
select 'spilled', count(*) from ns_job where queue = :queue and state = 'spilled'
union all
select 'running', count(*) from ns_job where queue = :queue and state = 'running'
union all
select 'parked', count(*) from ns_job where queue = :queue and state = 'parked'
union all
select * from (select state, count(*) from ns_job where queue = :queue and keep_until_us is not null group by state)
