-- Tell how many spilled jobs may enter a queue: -1 for all. No row if none is spilled.
-- Params: queue.
select case when max_size is null then -1 else max(0, max_size - size) end
  from ns_queue
 where name = :queue and exists (select 1 from ns_job where queue = :queue and state = 'spilled')
