-- Read the news of one queue: how runs ended first, then what came.
-- Params: queue, limit.
-- Guarantee: gives what is committed, whatever its number: a transaction that was held open has low numbers late.
select id, lane, kind, at_us, value
  from ns_lane_news
 where queue = %(queue)s
 order by (kind = 'came'), id
 limit %(limit)s
