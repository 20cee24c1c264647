-- Learn what a push has to know before it: the last seq, and which of its queues flow.
-- Params: queues, a JSON list.
-- Answer: the seq, and a JSON list of names.
select (select max(seq) from ns_job),
       (select json_group_array(name) from ns_queue
         where is_flowing and name in (select value from json_each(:queues)))
