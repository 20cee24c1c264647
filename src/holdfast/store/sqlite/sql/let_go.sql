-- Have the successor that waits for a key take it over, if nobody has it any more. It keeps the time it was pushed for.
-- Params: queue, key.
update ns_job
   set state = 'scheduled'
 where queue = :queue and key = :key and state = 'waiting'
   and not exists (select 1 from ns_job h where h.queue = :queue and h.key = :key
                      and h.key is not null and h.keep_until_us is null and h.state <> 'waiting')
