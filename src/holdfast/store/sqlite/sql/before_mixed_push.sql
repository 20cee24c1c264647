-- Learn what a push into several queues has to know before it.
-- Params: queues, a JSON list.
-- Answer: the last seq, and a JSON list of those queues that flow.
select (select max(seq) from ns_job),
       (select json_group_array(name) from ns_queue
         where is_flowing and name in (select value from json_each(?)))
