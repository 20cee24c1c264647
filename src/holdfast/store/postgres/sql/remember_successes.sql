-- Remember the last success under some keys.
-- Params: queues, keys, jobs, untils, versions: lists; now.
insert into ns_success (queue, key, job, at_us, until_us, version)
select distinct on (queue, key) queue, key, job, %(now)s, until_us, version
  from unnest(%(queues)s::text[], %(keys)s::text[], %(jobs)s::text[], %(untils)s::bigint[], %(versions)s::text[])
       with ordinality as given (queue, key, job, until_us, version, place)
 order by queue, key, place desc
on conflict (queue, key) do update
   set job = excluded.job, at_us = excluded.at_us, until_us = excluded.until_us, version = excluded.version
