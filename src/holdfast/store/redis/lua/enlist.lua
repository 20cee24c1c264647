#!lua flags=allow-oom
-- Begin a worker's lease.
-- include: house
-- Args: now, again, worker, length of the lease, record.
-- Answer: 1, or 0 if the id was ever seen.
-- Guarantee: an id enlists once. Sent again after a lost answer, it is the same enlisting.
local worker, now = ARGV[3], now_us()
if redis.call('ZSCORE', ENDED, worker) then
  return 0
end
if redis.call('ZSCORE', LEASES, worker) then
  return is_again() and 1 or 0
end
redis.call('ZADD', LEASES, now + ARGV[4], worker)
redis.call('HSET', LENGTHS, worker, ARGV[4])
redis.call('HSET', WORKERS, worker, digits(now) .. ' ' .. ARGV[5])
return 1
