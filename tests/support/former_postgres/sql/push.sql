-- Store jobs, with their tags.
-- Params: one list for each thing a NewJob says, tags as JSON lists; now, or null for the server's clock.
-- Guarantee: a job id that is known, in whatever state, is left alone (I3). Inserts rows of its own and touches no
-- other: a transaction that holds this open blocks nobody, save who pushes the same id.
with moment as materialized (
    select ns_now(%(now)s) as now_us
), given as materialized (
    select given.*, greatest(now_us, coalesce(at_us, now_us + delay_us)) as due_us, now_us
      from moment, unnest(%(ids)s::text[], %(queues)s::text[], %(tasks)s::text[], %(priorities)s::bigint[],
                  %(delays)s::bigint[], %(ats)s::bigint[], %(expiries)s::bigint[], %(budgets)s::bigint[],
                  %(keep_done)s::bigint[], %(keep_dead)s::bigint[], %(result_ttls)s::bigint[], %(tags)s::text[],
                  %(seals)b::bytea[], %(envelopes)b::bytea[]) with ordinality
           as given (id, queue, task, priority, delay_us, at_us, expires_us, crash_budget, keep_done_s, keep_dead_s,
                     result_ttl_s, tags, seal, envelope, place)
), fresh as (
    insert into ns_job (id, queue, task, state, priority, due_us, created_us, expires_us, crash_budget, keep_done_s,
                        keep_dead_s, result_ttl_s, tags, seal, envelope)
    select id, queue, task, case when due_us > now_us then 'scheduled' else 'ready' end, priority, due_us, now_us,
           expires_us, crash_budget, keep_done_s, keep_dead_s, result_ttl_s,
           case when tags is not null then array(select jsonb_array_elements_text(tags::jsonb)) end, seal, envelope
      from given
     order by place
    on conflict (id) do nothing
    returning seq, id, tags
), tagged as (
    insert into ns_tag (tag, job) select distinct unnest(tags), seq from fresh where tags is not null
)
select id from fresh
