-- Leave the news that these jobs have come to their lanes, where their queues flow.
-- Params: ids, a JSON list; now.
insert into ns_news (queue, lane, kind, at_us, value)
select distinct j.queue, ifnull(j.lane, ''), 'came', :now, 1
  from ns_job j join ns_queue q on q.name = j.queue
 where j.id in (select value from json_each(:ids)) and q.is_flowing
