-- Leave news of lanes, in the order given.
-- Params: queues, lanes, kinds, moments, numbers: lists.
-- Guarantee: inserts rows of its own and waits for nobody.
insert into ns_lane_news (queue, lane, kind, at_us, value)
select queue, lane, kind, at_us, value
  from unnest(%(queues)s::text[], %(lanes)s::text[], %(kinds)s::text[], %(moments)s::bigint[], %(numbers)s::bigint[])
       with ordinality as given (queue, lane, kind, at_us, value, place)
 order by place
