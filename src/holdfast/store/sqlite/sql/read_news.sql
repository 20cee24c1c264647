-- Read the news of one queue: how runs ended first, then what came.
-- Params: queue, limit.
select id, lane, kind, at_us, value from ns_news
 where queue = :queue
 order by kind = 'came', id
 limit :limit
