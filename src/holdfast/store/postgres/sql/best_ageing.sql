-- Find and lock the best ready jobs of many lanes at once, where priorities age.
-- Params: as best_fifo; ageing: in how many microseconds a job that is due gains a point of priority; most: the priority, up or
-- down, beyond which it makes no difference (so no product is too large).
-- Answer: as best_fifo.
-- Cost: as best_fifo for each priority that the jobs of a lane have. Within one, order is by due time; which of the first of
-- all priorities are the best is told by how long they have been due as well.
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
               select first.seq,
                      row_number() over (order by first.due_us - step.head_start_us, first.due_us, first.seq) as place
                 from (select priority,
                              greatest(- %(most)s::bigint, least(priority, %(most)s::bigint)) * %(ageing)s::bigint
                                  as head_start_us
                         from step) as step
                      cross join lateral (select due_us, seq
                                            from ns_job
                                           where queue = %(queue)s and lane = asked.lane and state = 'ready'
                                             and priority = step.priority
                                             and (expires_us is null or expires_us > %(now)s)
                                             and seq <> all (%(known)s::bigint[])
                                           order by due_us, seq
                                           limit asked.number) as first
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
