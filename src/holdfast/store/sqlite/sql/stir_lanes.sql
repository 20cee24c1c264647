-- Leave the news that every lane which is not at rest has to be looked at.
-- Params: queue, now.
insert into ns_news (queue, lane, kind, at_us, value)
select queue, lane, 'came', :now, 1 from ns_lane
 where queue = :queue and gate in ('open', 'timed', 'shut')
