-- Whether there is room in a queue, and how spilled jobs get in. `policy.bounds` explains; jobs that come back do not ask.
-- include: moves
--
-- A queue that is not bounded pays nothing for this.

local SIZED = { waiting = true, scheduled = true, ready = true }
local MOST_WAITING, IS_SPILLING, SPILL_TTL = 1, 2, 3

-- Count the jobs that have yet to start.
local function size()
  local number = 0
  for _, key in ipairs({ WAITING, LATER, READY, LANED }) do
    number = number + redis.call('ZCARD', key)
  end
  return number
end

-- Tell whether there is room for one more, when so many leave.
local function has_room(leaving)
  local most = queue.bounds and queue.bounds[MOST_WAITING]
  return not most or size() - (leaving or 0) < most
end

local had_room = has_room()

-- Let spilled jobs in while there is room, a slice of them at most: after a bound was lifted there may be any number.
local function let_in()
  for _ = 1, SLICE do
    if not has_room() then
      return
    end
    local first = redis.call('ZRANGE', SPILLED, 0, 0)[1]
    if not first then
      break
    end
    local stamp = stamp_at_end(first)
    local head = load(stamp)
    lift(stamp, head)
    head[EXPIRES] = head[OWN_EXPIRES]
    lay(stamp, head, 'scheduled')
    has_entered = true
  end
end

-- Every step that moves jobs ends so: what was spilled gets in, and lanes are put in their places.
local function close_step(now)
  if queue.bounds then
    let_in()
    if not queue.bounds[MOST_WAITING] and redis.call('EXISTS', SPILLED) == 0 then
      redis.call('HDEL', META, 'bounds') -- it was lifted, and now all are in
    end
  end
  close_round(now)
end
