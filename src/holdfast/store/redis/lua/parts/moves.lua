-- How a job moves: lift, change, lay. A script is one step, so nobody sees between.
-- include: round, identity, seen

local LOWEST = 2 ^ 32 -- priorities are well above -LOWEST and below LOWEST
local has_entered = false -- whether a job that waited or was spilled may start now

local function rank(stamp, head)
  return struct.pack('>I8I7', head[DUE], stamp)
end

local function rank_in_lane(stamp, head)
  return head[LANE] .. '\0' .. struct.pack('>I5I8I7', LOWEST - head[PRIORITY], head[DUE], stamp)
end

local function lift_ready(stamp, head)
  if head[LANE] then
    redis.call('ZREM', LANED, rank_in_lane(stamp, head))
    redis.call('ZREM', SINCE, bytes_of(stamp))
  else
    redis.call('ZREM', READY, rank(stamp, head))
  end
  stir(head[LANE] or '')
end

local function lay_ready(stamp, head)
  if head[LANE] then
    redis.call('ZADD', LANED, 0, rank_in_lane(stamp, head))
    redis.call('ZADD', SINCE, head[DUE], bytes_of(stamp))
  else
    redis.call('ZADD', READY, -head[PRIORITY], rank(stamp, head))
  end
  stir(head[LANE] or '')
end

-- Take the job out of the index of its state, so that it can be changed.
local function lift(stamp, head)
  local state, bytes = head[STATE], bytes_of(stamp)
  if state == 'ready' then
    lift_ready(stamp, head)
  elseif state == 'scheduled' then
    redis.call('ZREM', LATER, bytes)
  elseif state == 'running' then
    redis.call('ZREM', RUNNING, head[WORKER] .. '\0' .. bytes)
    count_running(head[LANE] or '', -1)
    if head[CANCEL_ASKED] then
      redis.call('ZREM', ASKED, head[WORKER] .. '\0' .. head[TOKEN])
    end
  elseif state == 'waiting' then
    redis.call('ZREM', WAITING, bytes)
  elseif state == 'spilled' then
    redis.call('ZREM', SPILLED, bytes)
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

local hand_on_key -- below: it lays another job

-- Put a lifted job where its new state belongs, and save it. (To start to run is a matter of `claim.lua`.)
local function lay(stamp, head, state, is_orphan)
  local bytes = bytes_of(stamp)
  head[STATE] = state
  if state == 'ready' then
    lay_ready(stamp, head)
  elseif state == 'scheduled' then
    redis.call('ZADD', LATER, head[DUE], bytes)
  elseif state == 'waiting' then
    redis.call('ZADD', WAITING, 0, bytes)
  elseif state == 'spilled' then
    redis.call('ZADD', SPILLED, -head[PRIORITY], bytes)
  elseif state == 'parked' then
    redis.call('ZADD', PARKED, 0, (is_orphan and 't' .. head[TASK] or 'x') .. '\0' .. bytes)
  else
    redis.call('ZADD', KEPT, head[KEEP_UNTIL], bytes)
    redis.call('HINCRBY', COUNTS, state, 1)
  end
  if head[EXPIRES] and not FINAL[state] then
    redis.call('ZADD', EXPIRING, head[EXPIRES], bytes)
  end
  save(stamp, head)
  if FINAL[state] then
    hand_on_key(stamp, head)
    if #head > OWN_EXPIRES then
      seen().close(head)
    end
  end
end

-- Free the key of a job that has ended or goes. A successor is scheduled for the time it was pushed for.
function hand_on_key(stamp, head)
  local heir = let_go(stamp, head)
  if heir then
    local its = load(heir)
    lift(heir, its)
    lay(heir, its, 'scheduled')
    has_entered = true
  end
end

-- Note when the job ended and how long its record is to be kept.
local function finish(head, state, now)
  head[FINISHED] = now
  head[KEEP_UNTIL] = now + (state == 'succeeded' and head[KEEP_DONE] or head[KEEP_DEAD]) * SECOND
end

-- Forget a job and all that belongs to it. The mark in `gone` stands until the house has forgotten its id, and keeps a
-- push that was under way meanwhile from bringing it in again.
local function drop(stamp, head, now)
  local bytes = bytes_of(stamp)
  lift(stamp, head)
  if not FINAL[head[STATE]] then
    hand_on_key(stamp, head)
  end
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
