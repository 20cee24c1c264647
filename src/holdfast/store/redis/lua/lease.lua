#!lua flags=no-writes
-- Tell how a worker's lease stands.
-- include: house
-- Args: now, again, worker.
-- Answer: how long it lives yet and its record; or why there is none.
local worker, now = ARGV[3], now_us()
if is_live(worker, now) then
  return { digits(redis.call('ZSCORE', LEASES, worker) - now), redis.call('HGET', WORKERS, worker) }
end
if redis.call('ZSCORE', ENDED, worker) then
  return 'worker ' .. worker .. ' has left or was given up for dead. Enlist under a new id.'
end
local ends = redis.call('ZSCORE', LEASES, worker)
if not ends then
  return 'worker ' .. worker .. ' holds no lease. Enlist before claiming.'
end
local told = 'worker %s fell silent: its lease ended %.1f s ago. Enlist under a new id.'
return string.format(told, worker, (now - ends) / 1000000)
