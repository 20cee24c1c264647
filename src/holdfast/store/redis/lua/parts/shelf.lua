-- One queue's jobs. A job is known here by its stamp, the number the house gave its id (see house.lua), and is in
-- the one index that its state calls for. A move is lift, change, lay; a script is one step, so nobody sees between.
--
-- Keys, all of one queue; every queue script is given all of them, in this order:
--   meta      hash    order (fifo or lifo), paused (1): the queue has come into being when this is there
--   head      hash    stamp -> the job's changing values, msgpack; the fields are listed below
--   body      hash    stamp -> two bytes (length of the seal + 1, or 0: no seal), the seal, the envelope
--   ready     zset    -priority; due and stamp as big-endian bytes, so that equals stand in order of due, then stamp
--   later     zset    due; stamp as bytes. The scheduled jobs
--   running   zset    0; worker, NUL, stamp as bytes
--   parked    zset    0; 't' and the task (parked for an unknown task) or 'x' (for another reason), NUL, stamp as bytes
--   expiring  zset    expires; stamp as bytes. Beside ready, later and parked
--   kept      zset    keep_until; stamp as bytes. The final jobs
--   counts    hash    final state -> number of jobs in it
--   story     hash    stamp -> reason, error, traceback of the last run, msgpack
--   results   hash    stamp -> result
--   notes     hash    stamp -> progress, msgpack
--   runs      hash    stamp:n -> the n-th finished run, msgpack; the last ten of each job
--   tags      zset    0; tag, NUL, stamp as bytes
--   asked     zset    0; worker, NUL, token of a running job that someone cancelled
--   gone      zset    moment; stamp as bytes, id: a job that was dropped, until the house has forgotten it
--   leases    zset    when the lease ends; worker. Copies of the house's leases, of workers that claimed here
--   tasks     hash    worker -> the tasks it knows, msgpack
--   ended     zset    when; worker. Workers whose lease was ended here, for ever
--   recent    zset    stamp; id. On a cluster, the jobs that came within the last ten minutes: see `push.lua`

local META, HEAD, BODY, READY, LATER, RUNNING, PARKED, EXPIRING, KEPT, COUNTS, STORY, RESULTS, NOTES, RUNS, TAGS,
  ASKED, GONE, LEASES, TASKS, ENDED, RECENT = unpack(KEYS)

-- The fields of a head. What is not set is false: a hole would not survive msgpack.
local ID, TASK, STATE, PRIORITY, DUE, CREATED, EXPIRES, GENERATION, DELIVERIES, FAILURES, CRASHES, BUDGET,
  KEEP_DONE, KEEP_DEAD, RESULT_TTL, CANCEL_ASKED, WORKER, TOKEN, CLAIMED, FINISHED, KEEP_UNTIL, RESULT_UNTIL,
  TAGGED, RUN_COUNT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24

local SECOND, KEEP_RUNS, STAMP_BYTES = 1000000, 10, 7
local FINAL = { succeeded = true, failed = true, cancelled = true, expired = true }

local function bytes_of(stamp)
  return struct.pack('>I7', stamp)
end

local function stamp_in(bytes, place)
  return digits((struct.unpack('>I7', bytes, place)))
end

local function rank(stamp, head)
  return struct.pack('>I8I7', head[DUE], stamp)
end

local function load(stamp)
  local packed = redis.call('HGET', HEAD, stamp)
  return packed and cmsgpack.unpack(packed)
end

local function save(stamp, head)
  redis.call('HSET', HEAD, stamp, cmsgpack.pack(head))
end

-- Take the job out of the index of its state, so that it can be changed.
local function lift(stamp, head)
  local state, bytes = head[STATE], bytes_of(stamp)
  if state == 'ready' then
    redis.call('ZREM', READY, rank(stamp, head))
  elseif state == 'scheduled' then
    redis.call('ZREM', LATER, bytes)
  elseif state == 'running' then
    redis.call('ZREM', RUNNING, head[WORKER] .. '\0' .. bytes)
    if head[CANCEL_ASKED] then
      redis.call('ZREM', ASKED, head[WORKER] .. '\0' .. head[TOKEN])
    end
  elseif state == 'parked' then
    redis.call('ZREM', PARKED, 't' .. head[TASK] .. '\0' .. bytes, 'x\0' .. bytes)
  elseif FINAL[state] then
    redis.call('ZREM', KEPT, bytes)
    redis.call('HINCRBY', COUNTS, state, -1)
  end
  if head[EXPIRES] and state ~= 'running' then
    redis.call('ZREM', EXPIRING, bytes)
  end
end

-- Put a lifted job where its new state belongs, and save it.
local function lay(stamp, head, state, is_orphan)
  local bytes = bytes_of(stamp)
  head[STATE] = state
  if state == 'ready' then
    redis.call('ZADD', READY, -head[PRIORITY], rank(stamp, head))
  elseif state == 'scheduled' then
    redis.call('ZADD', LATER, head[DUE], bytes)
  elseif state == 'running' then
    redis.call('ZADD', RUNNING, 0, head[WORKER] .. '\0' .. bytes)
  elseif state == 'parked' then
    redis.call('ZADD', PARKED, 0, (is_orphan and 't' .. head[TASK] or 'x') .. '\0' .. bytes)
  else
    redis.call('ZADD', KEPT, head[KEEP_UNTIL], bytes)
    redis.call('HINCRBY', COUNTS, state, 1)
  end
  if head[EXPIRES] and state ~= 'running' and not FINAL[state] then
    redis.call('ZADD', EXPIRING, head[EXPIRES], bytes)
  end
  save(stamp, head)
end

-- Note when the job ended and how long its record is to be kept.
local function finish(head, state, now)
  head[FINISHED] = now
  head[KEEP_UNTIL] = now + (state == 'succeeded' and head[KEEP_DONE] or head[KEEP_DEAD]) * SECOND
end

-- Tell the number of the oldest run that is kept.
local function first_run(head)
  return math.max(1, head[RUN_COUNT] - KEEP_RUNS + 1)
end

-- Forget a job and all that belongs to it. The mark in `gone` stands until the house has forgotten its id, and keeps a
-- push that was under way meanwhile from bringing it in again.
local function drop(stamp, head, now)
  local bytes = bytes_of(stamp)
  lift(stamp, head)
  for _, key in ipairs({ HEAD, BODY, STORY, RESULTS, NOTES }) do
    redis.call('HDEL', key, stamp)
  end
  for number = first_run(head), head[RUN_COUNT] do
    redis.call('HDEL', RUNS, stamp .. ':' .. number)
  end
  for _, tag in ipairs(head[TAGGED] or {}) do
    redis.call('ZREM', TAGS, tag .. '\0' .. bytes)
  end
  redis.call('ZADD', GONE, now, bytes .. head[ID])
end

-- Give the job another reason for being where it is; what its last run told is left.
local function give_reason(stamp, reason)
  local story = redis.call('HGET', STORY, stamp)
  local told = story and cmsgpack.unpack(story) or { false, false, false }
  told[1] = reason
  redis.call('HSET', STORY, stamp, cmsgpack.pack(told))
end

-- End one job whose time to start has passed.
local function expire(stamp, head, now)
  lift(stamp, head)
  finish(head, 'expired', now)
  give_reason(stamp, 'expired')
  lay(stamp, head, 'expired')
end

-- End up to `limit` jobs whose time to start has passed. Give how many.
local function expire_due(limit, now)
  local over = redis.call('ZRANGE', EXPIRING, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
  for _, bytes in ipairs(over) do
    local stamp = stamp_in(bytes, 1)
    expire(stamp, load(stamp), now)
  end
  return #over
end

-- Let go of up to `limit` ids that came so long ago that no house can have lost them unnoticed.
local function forget_recent(limit)
  local before = digits(server_us() - 600 * SECOND)
  local old = redis.call('ZRANGE', RECENT, '-inf', before, 'BYSCORE', 'LIMIT', 0, limit)
  if #old > 0 then
    redis.call('ZREM', RECENT, unpack(old))
  end
end

-- Give the members of a zset of equal scores that begin with `name` and NUL.
local function under(key, name, limit)
  return redis.call('ZRANGE', key, '[' .. name .. '\0', '(' .. name .. '\1', 'BYLEX', 'LIMIT', 0, limit or -1)
end

local function is_paused()
  return redis.call('HGET', META, 'paused') == '1'
end

-- Tell when something can be claimed here: 0 if something is ready, nil if nothing is to come.
local function next_claimable()
  if is_paused() then
    return nil
  end
  if redis.call('EXISTS', READY) == 1 then
    return 0
  end
  local head = redis.call('ZRANGE', LATER, 0, 0, 'WITHSCORES')
  return head[2] and tonumber(head[2])
end
