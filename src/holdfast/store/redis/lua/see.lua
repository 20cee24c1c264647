#!lua
-- Mark keys as seen in one queue, for ever or for a time.
-- include: answers
-- Args: now, again, caller, number of the call, digests one behind the other, for how long ('': for ever).
-- Answer: a text, '1' for each digest that was new, else '0'.
-- Guarantee: a key is new to one caller only; one that is there keeps its term. Refused as a whole when the server is out
-- of memory.
-- Sent again after a lost answer, it gives that answer.
local now, ttl = now_us(), tonumber(ARGV[6])
redis.call('HSETNX', META, 'order', 'fifo')
return change_each(ARGV[5], function(digest)
  return seen().add(digest, ttl, now)
end, now)
