-- Tell the best ready jobs of one queue without lanes, and the moment for which that holds.
-- Params: queue, limit.
-- Answer: one row for each job: number that the next transaction will have, numbers of those under way (our own, too), the
-- job's place in the order; a single row with no place if nothing is ready.
select since, under_way, place.*
  from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as since,
               array(select xid::text::bigint from pg_snapshot_xip(pg_current_snapshot()) as xid)
                   || pg_current_xact_id_if_assigned()::text::bigint as under_way) as moment
       left join (select - priority, due_us, seq
                    from ns_job
                   where queue = %(queue)s and lane = '' and state = 'ready'
                   order by priority desc, due_us, seq
                   limit %(limit)s) as place on true
