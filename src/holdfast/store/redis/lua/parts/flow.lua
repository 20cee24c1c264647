-- When the next job of a queue, or of one of its lanes, may start; and whose turn it is. The rules are `policy.flow`,
-- which explains them, once more in Lua; the contract suite compares.
--
-- A flow is an array in the order of `policy.flow.Flow`, and behind that how many jobs of the lane run. Limits are an
-- array, too: rate (interval, burst), the most that may run, breaker (failures, pause, probes); what is not set is
-- false. (Fields 11 and 12 are for drains.lua.)

local TURN, TAT, STARTED, SLOW_UNTIL, IS_PAUSED, CIRCUIT, MISSES, UNTIL, PROBES, IS_BUSY, IN_HAND =
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13
local RATE, MOST, BREAKER = 1, 2, 3
local STRIDE, GRUDGE = 10000, 86400 * 1000000

local function new_flow()
  return { 0, 0, 0, 0, false, 'closed', 0, 0, 0, false, 0, 0, 0 }
end

local function owed(flow, rate)
  return math.min(flow[TAT], flow[STARTED] + rate[2] * rate[1])
end

local function is_forgiven(flow, now)
  return flow[UNTIL] + GRUDGE <= now
end

local function forgive(flow, now)
  if is_forgiven(flow, now) then
    flow[CIRCUIT], flow[MISSES], flow[PROBES] = 'closed', 0, 0
  end
end

-- Tell when a job may start: 0 (now), at a moment, or nil (when something happens).
local function opening(flow, limits, running, now)
  local rate = limits[RATE]
  if flow[IS_PAUSED] or rate and rate[1] == 0 then
    return nil
  end
  if limits[BREAKER] and not is_forgiven(flow, now) then
    if flow[CIRCUIT] == 'open' and flow[UNTIL] > now then
      return flow[UNTIL]
    end
    if flow[CIRCUIT] == 'probing' and flow[PROBES] <= 0 then
      return nil
    end
  end
  if limits[MOST] and running >= limits[MOST] then
    return nil
  end
  if flow[SLOW_UNTIL] > now then
    return flow[SLOW_UNTIL]
  end
  local next_start = rate and owed(flow, rate) - (rate[2] - 1) * rate[1] or 0
  return next_start > now and next_start or 0
end

-- Charge a flow that is open for one start.
local function start(flow, limits, now)
  local rate, breaker = limits[RATE], limits[BREAKER]
  if rate then
    flow[TAT] = math.max(owed(flow, rate), now) + rate[1]
    flow[STARTED] = now
  end
  if breaker then
    forgive(flow, now)
    if flow[CIRCUIT] == 'open' then
      flow[CIRCUIT], flow[MISSES], flow[PROBES] = 'probing', 0, breaker[3]
    end
    if flow[CIRCUIT] == 'probing' then
      flow[PROBES] = flow[PROBES] - 1
    end
  end
end

local function miss(flow, breaker, now)
  local is_probing = flow[CIRCUIT] == 'probing'
  flow[MISSES] = flow[MISSES] + 1
  if flow[MISSES] >= (is_probing and breaker[3] or breaker[1]) then
    flow[CIRCUIT], flow[MISSES], flow[UNTIL] = 'open', 0, now + breaker[2]
  elseif not is_probing then
    flow[UNTIL] = now
  end
end

-- Tell a flow how one of its runs ended: ok, bad or void.
local function end_run(flow, limits, result, now)
  local breaker = limits[BREAKER]
  if not breaker then
    return
  end
  forgive(flow, now)
  if flow[CIRCUIT] == 'open' then
    return -- a straggler of before: it is the probes that decide
  end
  if result == 'ok' then
    flow[CIRCUIT], flow[MISSES], flow[PROBES] = 'closed', 0, 0
  elseif result == 'bad' then
    miss(flow, breaker, now)
  elseif flow[CIRCUIT] == 'probing' then
    flow[PROBES] = math.min(flow[PROBES] + 1, breaker[3])
  end
end

-- Undo, by a person's wish, all that holds a flow back but its rate and its number. Give whether that changed it.
-- What is over by now changes nothing: it may have been forgotten, and nobody shall be able to tell.
local function release(flow, now)
  local is_clean = is_forgiven(flow, now) or (flow[CIRCUIT] == 'closed' and flow[MISSES] == 0)
  local was_held = flow[IS_PAUSED] or flow[SLOW_UNTIL] > now or not is_clean
  flow[IS_PAUSED], flow[CIRCUIT], flow[MISSES], flow[SLOW_UNTIL] = false, 'closed', 0, 0
  return was_held
end

-- Tell whether a lane has no place in the round, and none that it left lately.
local function is_outside(lane, queue)
  return lane[TURN] == 0 or lane[TURN] < queue[TURN]
end

-- Let a lane take its place at the end of the round.
local function join(lane, queue, weight)
  lane[TURN] = queue[TURN] + math.floor(STRIDE / weight) - 1
end

-- Move a lane on behind the others, for one start.
local function move_on(lane, queue, weight)
  queue[TURN] = lane[TURN]
  lane[TURN] = lane[TURN] + math.floor(STRIDE / weight)
  queue[IS_BUSY] = true
end

local function has_grudge(flow)
  return flow[CIRCUIT] ~= 'closed' or flow[MISSES] > 0
end

-- Tell from when on time does not keep a lane that holds no jobs from being forgotten.
local function rests_until(lane)
  return math.max(lane[TAT], lane[SLOW_UNTIL], has_grudge(lane) and lane[UNTIL] + GRUDGE or 0)
end

-- Tell whether a lane that holds no jobs would be the same if it were made anew.
local function is_forgettable(lane, queue, now)
  return is_outside(lane, queue) and rests_until(lane) <= now and not lane[IS_PAUSED]
end
