-- Read a worker's lease, and keep anyone from ending it before this transaction is over.
-- Params: worker, now; queues, of which those that flow or have a bound are told.
-- Guarantee: whoever ends a lease (`for update`) comes before or after, never in between, so no job is handed to a
-- worker whose jobs were just taken. Beats are not held up. The time is read once the lock is held.
select is_ended, until_us, ns_now(%(now)s),
       array(select name from ns_queue where name = any (%(queues)s::text[]) and (is_flowing or max_size is not null))
  from (select ended_us is not null as is_ended, beat_us + lease_us as until_us
          from ns_worker
         where id = %(worker)s
           for key share) as held
