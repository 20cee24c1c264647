-- Forget keys of exact sets.
-- Params: queues, digests: lists; now.
-- Answer: those that were there, and not past their term.
-- Guarantee: locks in one order, as everyone does.
with held as (
    select known.queue, known.digest
      from unnest(%(queues)s::text[], %(digests)b::bytea[]) as given (queue, digest)
           join ns_seen as known on known.queue = given.queue and known.digest = given.digest
     order by known.queue, known.digest
       for update of known
), gone as (
    delete from ns_seen as known
     using held
     where known.queue = held.queue and known.digest = held.digest
    returning known.queue, known.digest, known.until_us
)
select queue, digest from gone where until_us is null or until_us > (select ns_now(%(now)s))
