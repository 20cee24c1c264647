-- Learn what a push into one queue has to know before it.
-- Params: queue.
-- Answer: the last seq, and whether the queue flows.
select (select max(seq) from ns_job), is_flowing from ns_queue where name = ?
