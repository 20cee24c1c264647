-- Mark queues as flowing that were not, and leave the news that something may have come to their nameless lane: of what came
-- before nothing was noted.
-- Params: queues, now.
with asked as (
    select name from ns_queue where name = any (%(queues)s::text[]) and not is_flowing order by name for update
), begun as (
    update ns_queue as queue
       set is_flowing = true
      from asked
     where queue.name = asked.name and not is_flowing
    returning queue.name
)
insert into ns_lane_news (queue, lane, kind, at_us, value)
select name, '', 'came', ns_now(%(now)s), 1 from begun
