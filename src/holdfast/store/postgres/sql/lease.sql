-- Read a worker's lease, and the time.
-- Params: worker, now.
-- Answer: whether it has ended by word, until when its last beat carries it, the time. No row: it never enlisted.
select ended_us is not null, beat_us + lease_us, ns_now(%(now)s), array[]::text[]
  from ns_worker
 where id = %(worker)s
