-- Leave the news that every lane which is not at rest has to be looked at.
-- Params: queue, now.
insert into ns_lane_news (queue, lane, kind, at_us, value)
select queue, lane, 'came', %(now)s, 1
  from ns_lane
 where queue = %(queue)s and gate in ('open', 'timed', 'shut')
