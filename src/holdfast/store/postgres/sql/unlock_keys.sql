-- Delete the rows of locked keys. The locks are held until the transaction is over all the same.
-- Params: queues, keys: lists.
delete from ns_key_lock as lock
 using unnest(%(queues)s::text[], %(keys)s::text[]) as given (queue, key)
 where lock.queue = given.queue and lock.key = given.key
