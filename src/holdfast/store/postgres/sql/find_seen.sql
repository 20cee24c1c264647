-- Find which of some keys an exact set holds.
-- Params: queue, digests (a list), now.
select digest
  from (select ns_now(%(now)s) as now_us offset 0) as moment, unnest(%(digests)b::bytea[]) as given (digest)
 where (select true from ns_seen as known
         where known.queue = %(queue)s and known.digest = given.digest
           and (known.until_us is null or known.until_us > now_us)) is not null
