-- What crosses queues, in one place: which queue holds an id, which queues there are, who holds a lease.
-- include: moment
--
-- Keys; every house script is given all of them, in this order:
--   ids       hash    id -> stamp, space, queue. The directory
--   stamp     string  the last stamp given out. The next one is higher, and not below the server's time in microseconds: so
--                     that none is given twice even if a replica takes over which has not heard of the last ones
--   queues    set     names
--   workers   hash    worker -> when it enlisted, space, its record, msgpack. Those whose lease has not been ended
--   leases    zset    when the lease ends; worker
--   lengths   hash    worker -> length of its lease
--   leaving   set     workers that were asked to stop
--   reports   hash    worker -> what it last said of itself, msgpack
--   ended     zset    when; worker. For ever

local IDS, STAMP, QUEUES, WORKERS, LEASES, LENGTHS, LEAVING, REPORTS, ENDED = unpack(KEYS)

local function is_live(worker, now)
  local ends = redis.call('ZSCORE', LEASES, worker)
  return ends and tonumber(ends) >= now
end

local function end_lease(worker, now)
  if redis.call('ZREM', LEASES, worker) == 1 then
    redis.call('ZADD', ENDED, now, worker)
    redis.call('HDEL', WORKERS, worker)
    redis.call('HDEL', LENGTHS, worker)
    redis.call('SREM', LEAVING, worker)
    redis.call('HDEL', REPORTS, worker)
  end
end
