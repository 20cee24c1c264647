-- Store jobs about which a key, a bound or a seen-set has been asked, with their tags, and leave news of them where queues flow.
-- Params: one list for each thing an Arrival says, tags as JSON lists; now.
-- Guarantee: two jobs with one id, or two with one key, are an error of the database, never a fact in it (I3, I23).
with fresh as (
    insert into ns_job (id, queue, task, state, priority, due_us, created_us, expires_us, crash_budget, keep_done_s,
                        keep_dead_s, result_ttl_s, tags, seal, envelope, lane, key, version, fresh_for_us,
                        own_expires_us, finished_us, keep_until_us, reason, seen_digest, seen_ttl_us)
    select id, queue, task, state, priority, due_us, %(now)s, expires_us, crash_budget, keep_done_s, keep_dead_s,
           result_ttl_s, case when tags is not null then array(select jsonb_array_elements_text(tags::jsonb)) end, seal,
           envelope, lane, key, version, fresh_for_us, own_expires_us, finished_us, keep_until_us, reason,
           seen_digest, seen_ttl_us
      from unnest(%(ids)s::text[], %(queues)s::text[], %(tasks)s::text[], %(states)s::text[], %(priorities)s::bigint[],
                  %(dues)s::bigint[], %(expiries)s::bigint[], %(budgets)s::bigint[], %(keep_done)s::bigint[],
                  %(keep_dead)s::bigint[], %(result_ttls)s::bigint[], %(tags)s::text[], %(seals)b::bytea[],
                  %(envelopes)b::bytea[], %(lanes)s::text[], %(keys)s::text[], %(versions)s::text[],
                  %(fresh_for)s::bigint[], %(own_expiries)s::bigint[], %(finished)s::bigint[], %(kept)s::bigint[],
                  %(reasons)s::text[], %(seen_digests)b::bytea[], %(seen_ttls)s::bigint[]) with ordinality
           as given (id, queue, task, state, priority, due_us, expires_us, crash_budget, keep_done_s, keep_dead_s,
                     result_ttl_s, tags, seal, envelope, lane, key, version, fresh_for_us, own_expires_us, finished_us,
                     keep_until_us, reason, seen_digest, seen_ttl_us, place)
     order by place
    returning seq, tags, queue, lane, state
), tagged as (
    insert into ns_tag (tag, job) select distinct unnest(tags), seq from fresh where tags is not null
)
insert into ns_lane_news (queue, lane, kind, at_us, value)
select distinct queue, lane, 'came', %(now)s::bigint, 1
  from fresh
 where state = 'ready'
   and (lane <> '' or queue = any (array(select name from ns_queue where is_flowing and name = any (%(queues)s::text[]))))
