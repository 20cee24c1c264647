-- Find and lock the best ready jobs of many lanes at once, the last due first among equals.
-- Params, answer: as best_fifo.
-- Cost: as best_fifo for each priority that the jobs of a lane have. An index of one priority can be read backwards, one of
-- all cannot: the first of one priority leads to the first of the next.
with chosen as materialized (
    select asked.lane, best.seq, asked.place as lane_place, best.place
      from unnest(%(lanes)s::text[], %(numbers)s::bigint[]) with ordinality as asked (lane, number, place)
           cross join lateral (
               with recursive step as (
                   (select priority
                      from ns_job
                     where queue = %(queue)s and lane = asked.lane and state = 'ready'
                     order by priority desc
                     limit 1)
                   union all
                   select next.priority
                     from step
                          cross join lateral (select priority
                                                from ns_job
                                               where queue = %(queue)s and lane = asked.lane and state = 'ready'
                                                 and priority < step.priority
                                               order by priority desc
                                               limit 1) as next
               )
               select last.seq, row_number() over (order by step.priority desc, last.due_us desc, last.seq desc) as place
                 from step
                      cross join lateral (select due_us, seq
                                            from ns_job
                                           where queue = %(queue)s and lane = asked.lane and state = 'ready'
                                             and priority = step.priority
                                             and (expires_us is null or expires_us > %(now)s)
                                             and seq <> all (%(known)s::bigint[])
                                           order by due_us desc, seq desc
                                           limit asked.number) as last
                order by place
                limit asked.number
           ) as best
), ours as materialized (
    select seq
      from ns_job
     where seq = any (array(select seq from chosen)) and state || '' = 'ready'
       for no key update skip locked
)
select lane, seq, seq in (select seq from ours)
  from chosen
 order by lane_place, place
