#!lua flags=allow-oom
-- Set one thing about a queue: its order, or whether it is paused.
-- include: moment, shelf, bell
-- Args: now, again, bell, over, queue, field of meta, value.
-- Answer: 1 if that changed anything, else 0.
local before = next_claimable()
redis.call('HSETNX', META, 'order', 'fifo')
local old = redis.call('HGET', META, ARGV[6]) or '0'
redis.call('HSET', META, ARGV[6], ARGV[7])
ring_if_sooner(before)
return old ~= ARGV[7] and 1 or 0
