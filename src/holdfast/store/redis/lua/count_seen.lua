#!lua flags=no-writes
-- Count the keys that were seen in one queue.
-- include: seen
-- Args: now, again.
-- Answer: how many, as text, and the shape of the set, if it is approximate.
return { digits(seen().count(now_us())), redis.call('HGET', META, 'sketch') }
