-- Learn in one look what a claim on some queues has to do.
-- Params: queues, now; shelved: queues whose ready jobs are known otherwise (see `shelf`), told as having some.
-- Answer: for each queue that is not paused, in the order asked: its name and order; whether anything in it has
-- expired, is due, is parked, is ready. Hints: what is missed is found by the next claim.
-- Not `exists`: of that the planner may make a hash of all the queues that have such jobs, job by job.
select name, is_lifo,
       (select true from ns_job where queue = name and expires_us <= now_us and expires_us is not null
           and state in ('waiting', 'scheduled', 'ready', 'parked', 'spilled') limit 1) is not null,
       (select true from ns_job where queue = name and state = 'scheduled' and due_us <= now_us limit 1) is not null,
       (select true from ns_job where queue = name and state = 'parked' limit 1) is not null,
       case when name = any (%(shelved)s::text[]) and not is_lifo then true
            else (select true from ns_job where queue = name and state = 'ready' limit 1) is not null end
  from (select ns_now(%(now)s) as now_us offset 0) as moment,
       unnest(%(queues)s::text[]) with ordinality as asked (name, place)
       join ns_queue using (name)
 where not is_paused
 order by place
