-- Mark keys as seen in exact sets, and learn which sets are approximate.
-- Params: queues, digests, ttls: lists, no two of one key; now.
-- Answer: a row for each key that is new: queue, digest, null. A row for each set that is approximate: queue, null, its shape;
-- nothing is marked there.
-- Guarantee: of two that mark a key at once, the second waits until the first is over: one of them finds it new. A key that is seen is
-- only read, so that those who come to it again do not wait for each other; who waits has a key that was new. Locks in one
-- order, as everyone does: after jobs.
with shaped as materialized (
    select queue, sketch from ns_seen_shape where queue = any (%(queues)s::text[])
), given as materialized (
    select queue, digest, ttl_us, now_us
      from (select ns_now(%(now)s) as now_us offset 0) as moment,
           unnest(%(queues)s::text[], %(digests)b::bytea[], %(ttls)s::bigint[]) as given (queue, digest, ttl_us)
     where queue <> all (array(select queue from shaped))
), fresh as (
    insert into ns_seen as known (queue, digest, until_us)
    select queue, digest, now_us + ttl_us
      from given
     where (select true from ns_seen as known
             where known.queue = given.queue and known.digest = given.digest
               and (known.until_us is null or known.until_us > now_us)) is null
     order by queue, digest
    on conflict (queue, digest) do update
       set until_us = excluded.until_us
     where known.until_us <= (select ns_now(%(now)s))
    returning queue, digest
)
select queue, digest, null from fresh
union all
select queue, null, sketch from shaped
