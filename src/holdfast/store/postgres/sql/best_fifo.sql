-- Find and lock the best ready jobs of many lanes at once, the longest due first among equals.
-- Params: queue, now; lanes, numbers: lists; known: jobs that are not asked for.
-- Answer: lane by lane, in their order: the lane, the job, and whether it is ours. One that is not is in someone else's hands
-- at this moment, to be cancelled, say.
with chosen as materialized (
    select asked.lane, best.seq, asked.place as lane_place, best.place
      from unnest(%(lanes)s::text[], %(numbers)s::bigint[]) with ordinality as asked (lane, number, place)
           cross join lateral (
               select seq, row_number() over () as place
                 from (select seq
                         from ns_job
                        where queue = %(queue)s and lane = asked.lane and state = 'ready'
                          and (expires_us is null or expires_us > %(now)s)  -- a slice of expired ones may be left over
                          and seq <> all (%(known)s::bigint[])
                        order by priority desc, due_us, seq
                        limit asked.number) as first
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
