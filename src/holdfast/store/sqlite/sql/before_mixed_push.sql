-- Learn what a push into several queues has to know before it.
-- Params: queues, a JSON list.
-- Answer: the last seq; a JSON list of those queues that flow, and whether any has a bound.
select (select max(seq) from ns_job),
       json_group_array(name) filter (where is_flowing), ifnull(max(max_size is not null), 0)
  from ns_queue
 where name in (select value from json_each(?))
