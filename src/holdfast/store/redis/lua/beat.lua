#!lua flags=allow-oom
-- Renew a live lease, and keep what the worker says of itself.
-- include: house
-- Args: now, again, worker, report or ''.
-- Answer: nothing if there is no live lease; else its length, whether the worker is to stop, all queues.
-- Guarantee: a lease that has ended is never brought back.
local worker, now = ARGV[3], now_us()
if not is_live(worker, now) then
  return false
end
local length = redis.call('HGET', LENGTHS, worker)
redis.call('ZADD', LEASES, digits(now + length), worker)
if ARGV[4] ~= '' then
  redis.call('HSET', REPORTS, worker, ARGV[4])
end
return { length, redis.call('SISMEMBER', LEAVING, worker), redis.call('SMEMBERS', QUEUES) }
