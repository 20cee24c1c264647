-- Find the highest priority below another among the ready jobs of one lane.
-- Params: queue, lane (null for jobs without one), below (null: of all).
select priority from ns_job
 where queue = :queue and lane is :lane and state = 'ready' and priority < ifnull(:below, 9223372036854775807)
 order by priority desc
 limit 1
