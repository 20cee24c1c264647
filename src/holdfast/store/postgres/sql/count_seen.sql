-- Count the keys of a seen-set that are not past their term, and those that an approximate one took for new; and give its shape.
-- Params: queue, now.
-- Cost: a walk over all of them.
select (select count(*) from ns_seen where queue = %(queue)s and (until_us is null or until_us > now_us))
           + (select coalesce(sum(added), 0) from ns_seen_block where queue = %(queue)s),
       (select sketch from ns_seen_shape where queue = %(queue)s)
  from (select ns_now(%(now)s) as now_us offset 0) as moment
