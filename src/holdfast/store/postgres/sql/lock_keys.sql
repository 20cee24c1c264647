-- Lock some keys until the transaction is over. The row is deleted by `unlock_keys` in the same transaction.
-- Params: queues, keys: lists.
-- Guarantee: locks in one order, as everyone does: after queues, before jobs. Who holds a key's lock is the only one who gives
-- the key to a job. It can be taken from a job by whoever holds the job.
insert into ns_key_lock (queue, key)
select queue, key
  from unnest(%(queues)s::text[], %(keys)s::text[]) as given (queue, key)
 order by queue collate "C", key collate "C"
on conflict (queue, key) do nothing
