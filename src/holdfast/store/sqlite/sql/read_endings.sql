-- Read, for a reader, the news of one queue that change what its limits remember.
-- Params: queue.
select id, lane, kind, at_us, value from ns_news
 where queue = :queue and (kind = 'came') = 0
 order by id
