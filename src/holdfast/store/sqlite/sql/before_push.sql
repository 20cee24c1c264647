-- Learn what a push into one queue has to know before it.
-- Params: queue.
-- Answer: the last seq; whether the queue flows, and whether it has a bound.
select (select max(seq) from ns_job), is_flowing, max_size is not null from ns_queue where name = ?
