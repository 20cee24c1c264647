-- Lock the workers whose lease has ended and whose jobs nobody has taken yet.
-- Params: now.
-- Guarantee: a worker that claims at this moment is passed over, and found by the next rescue; a beat that came first
-- counts.
select id
  from ns_worker as worker, (select ns_now(%(now)s) as now_us offset 0) as moment
 where ended_us is null and beat_us + lease_us < now_us
 order by id
   for update of worker skip locked
