-- Begin a lease.
-- Params: id, host, pid, tasks, queues, lease, now.
-- Guarantee: an id that was ever enlisted is left alone, and gives no row.
insert into ns_worker (id, host, pid, tasks, queues, lease_us, started_us, beat_us)
select %(id)s, %(host)s, %(pid)s, %(tasks)s::text[], %(queues)s::text[], %(lease)s, now_us, now_us
  from (select ns_now(%(now)s) as now_us offset 0) as moment
on conflict (id) do nothing
returning id
