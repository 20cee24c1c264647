-- Tell which jobs of one queue have become ready since a moment, and the moment for which that holds.
-- Params: queue, since, under_way: as the last answer of this or of `shelf` told.
-- Answer: as that of `shelf`, in no order.
-- Cost: by what has happened since, whatever lies dead before. Two parts and no `or`: each is a seek.
select moment.since, moment.under_way, place.*
  from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as since,
               array(select xid::text::bigint from pg_snapshot_xip(pg_current_snapshot()) as xid)
                   || pg_current_xact_id_if_assigned()::text::bigint as under_way) as moment
       left join (select - priority, due_us, seq
                    from ns_job
                   where queue = %(queue)s and state || '' = 'ready' and lane = '' and born >= %(since)s
                  union all
                  select - priority, due_us, seq
                    from ns_job
                   where queue = %(queue)s and state || '' = 'ready' and lane = '' and born = any (%(under_way)s::bigint[])) as place on true
