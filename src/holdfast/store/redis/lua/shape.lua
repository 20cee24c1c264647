#!lua
-- Give an exact and empty seen-set a shape: it is approximate from now on.
-- include: seen
-- Args: now, again, the shape as msgpack.
-- Answer: the shape that the set has now, or nothing: it holds keys, and stays exact.
-- Guarantee: the first one stands, however often another is sent.
redis.call('HSETNX', META, 'order', 'fifo')
return seen().take_on(ARGV[3])
