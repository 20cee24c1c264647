-- Learn the rest of what a push has to know, once its locks are held: the time, which of its ids are known, and the last
-- successes under its keys.
-- Params: ids, now; queues, keys: lists.
-- Answer: one row; the successes are a JSON list of lists.
select ns_now(%(now)s), array(select id from ns_job where id = any (%(ids)s::text[])),
       coalesce((select json_agg(json_build_array(queue, key, job, at_us, until_us, version))
                   from unnest(%(queues)s::text[], %(keys)s::text[]) as given (queue, key)
                        join ns_success using (queue, key)), '[]')
