-- Store jobs, with their tags, and leave news of them where queues flow.
-- Params: one list for each thing a NewJob says, tags as JSON lists; now, or null for the server's clock.
-- Answer: the ids of those that were stored. A null if a queue has a bound: then none was.
-- Guarantee: a job id that is known, in whatever state, is left alone (I3). Inserts rows of its own and touches no
-- others: a transaction that holds this open blocks nobody, save who pushes the same id.
with bounded as materialized (
    select 1 from ns_queue where name = any (%(queues)s::text[]) and max_size is not null limit 1
), moment as materialized (
    select ns_now(%(now)s) as now_us where not exists (select 1 from bounded)
), given as materialized (
    select given.*, greatest(now_us, coalesce(at_us, now_us + delay_us)) as due_us, now_us
      from moment, unnest(%(ids)s::text[], %(queues)s::text[], %(tasks)s::text[], %(priorities)s::bigint[],
                  %(delays)s::bigint[], %(ats)s::bigint[], %(expiries)s::bigint[], %(budgets)s::bigint[],
                  %(keep_done)s::bigint[], %(keep_dead)s::bigint[], %(result_ttls)s::bigint[], %(tags)s::text[],
                  %(seals)b::bytea[], %(envelopes)b::bytea[], %(lanes)s::text[]) with ordinality
           as given (id, queue, task, priority, delay_us, at_us, expires_us, crash_budget, keep_done_s, keep_dead_s,
                     result_ttl_s, tags, seal, envelope, lane, place)
), fresh as (
    insert into ns_job (id, queue, task, state, priority, due_us, created_us, expires_us, crash_budget, keep_done_s,
                        keep_dead_s, result_ttl_s, tags, seal, envelope, lane)
    select id, queue, task, case when due_us > now_us then 'scheduled' else 'ready' end, priority, due_us, now_us,
           expires_us, crash_budget, keep_done_s, keep_dead_s, result_ttl_s,
           case when tags is not null then array(select jsonb_array_elements_text(tags::jsonb)) end, seal, envelope,
           lane
      from given
     order by place
    on conflict (id) do nothing
    returning seq, id, tags, queue, lane, state, created_us
), tagged as (
    insert into ns_tag (tag, job) select distinct unnest(tags), seq from fresh where tags is not null
), told as (
    -- Of a job with a lane always: that its queue flows may be news to this transaction.
    insert into ns_lane_news (queue, lane, kind, at_us, value)
    select distinct queue, lane, 'came', created_us, 1
      from fresh
     where state = 'ready'
       and (lane <> '' or queue = any (array(select name from ns_queue where is_flowing and name = any (%(queues)s::text[]))))
)
select id from fresh
union all
select null from bounded
