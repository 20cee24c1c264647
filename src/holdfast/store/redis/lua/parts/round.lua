-- Whose turn it is among the lanes of one queue. Jobs without a lane are a lane too, the one without a name.
-- include: flow, shelf
--
-- A lane with a ready job stands in `open` if it may start it, in `timed` if it may at a known moment, and in neither
-- if only an event can open it: as many of its jobs run as may, it is paused, its probes are under way. One that has yet
-- to join the round stands in `open` as a newcomer; the next claim has it join, as on other stores. Whatever
-- changes something about a lane stirs it, and a step that has stirred any puts them in their places before it ends
-- (`close_round`). So a lane that is held back costs a claim nothing.
--
-- A change of policy touches no lane: it sets `sweep`, and the next claims walk over the lanes by name, a slice at a
-- time, and put each in its place. Until then a lane may stand in `open` that may not start any more, so whoever
-- serves it asks again.
--
-- A queue flows once it has had a lane, a limit, a share, a paused lane or a slow verdict. Until then it has the one
-- lane, no turns are counted, and all this costs it no command but the first one here.

local SLICE = 1000 -- how many lanes a step looks at, beside those that it changes itself
local RANK_BYTES = 1 + 5 + 8 + 7 -- of a member of `laned`, behind the lane
local NO_LIMITS = { false, false, false }
local NEWCOMER = 0 -- lower than any turn

local queue, flows, changed, stirred = {}, {}, {}, {}

-- Go by this policy: limits, limits of its lanes (see flow.lua), whether there is any, whether there are weights, how
-- priorities age, whether drains are told. How priorities age is false, or in what time a job that is due gains a point,
-- and the priority, up or down, beyond which it makes no difference (so that every sum is exact).
local function take_on(policy)
  queue.limits, queue.lane_limits, queue.is_limited, queue.has_weights, queue.ageing, queue.tells_drained =
    unpack(cmsgpack.unpack(policy), 1, 6)
end

-- Read what meta tells of the queue, once in each step.
local function read_queue()
  local policy, flow, bounds
  queue.order, queue.paused, queue.flowing, policy, flow, queue.sweep, bounds =
    unpack(redis.call('HMGET', META, 'order', 'paused', 'flowing', 'policy', 'flow', 'sweep', 'bounds'))
  queue.flow = flow and cmsgpack.unpack(flow) or new_flow()
  queue.bounds = bounds and cmsgpack.unpack(bounds)
  queue.limits, queue.lane_limits = NO_LIMITS, NO_LIMITS
  if queue.flowing and policy then
    take_on(policy)
  end
end

read_queue()

local function is_paused()
  return queue.paused == '1'
end

-- Give what the limits of a lane remember, to be read.
local function flow_of(lane)
  if not flows[lane] then
    local packed = redis.call('HGET', LANES, lane)
    flows[lane] = packed and cmsgpack.unpack(packed) or new_flow()
  end
  return flows[lane]
end

-- Give what the limits of a lane remember, to be changed.
local function changing_flow(lane)
  changed[lane] = true
  return flow_of(lane)
end

-- Note that something about a lane has changed. 
local function stir(lane)
  if queue.flowing then
    stirred[lane] = true
  end
end

-- Count turns from now on. Of what came before, nothing was noted.
local function begin_to_flow()
  if not queue.flowing then
    queue.flowing = '1'
    redis.call('HSET', META, 'flowing', '1')
    changing_flow('')[IN_HAND] = redis.call('ZCARD', RUNNING)
    stir('')
  end
end

-- Note that one more job of a lane runs, or one less.
local function count_running(lane, by)
  if queue.flowing then
    local flow = changing_flow(lane)
    flow[IN_HAND] = flow[IN_HAND] + by
    stir(lane)
  end
end

-- Give the first lane, by name, behind this one that has a ready job, if there is one. O(log n).
local function lane_behind(lane)
  local from = lane == '' and '-' or '[' .. lane .. '\1'
  local first = redis.call('ZRANGE', LANED, from, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
  return first and string.sub(first, 1, -RANK_BYTES - 1)
end

local function has_ready(lane)
  if lane == '' then
    return redis.call('EXISTS', READY) == 1
  end
  return #under(LANED, lane, 1) == 1
end

-- Tell when a lane may start a job as far as the lane decides: see `opening`.
local function lane_opening(lane, now)
  local flow = flow_of(lane)
  return opening(flow, queue.lane_limits, flow[IN_HAND], now)
end

-- Tell when any lane may start a job, as far as the queue as a whole decides: see `opening`.
local function queue_opening(now)
  local running = queue.limits[MOST] and redis.call('ZCARD', RUNNING) or 0
  return opening(queue.flow, queue.limits, running, now)
end

-- Put a lane where it belongs now.
local function place(lane, now)
  stirred[lane] = nil
  local opens
  if has_ready(lane) then
    opens = lane_opening(lane, now)
  elseif lane ~= '' and flow_of(lane)[IN_HAND] == 0 then
    redis.call('ZADD', IDLE, math.max(now, rests_until(flow_of(lane))), lane)
  end
  if opens == 0 then
    local flow = flow_of(lane)
    redis.call('ZADD', OPEN, is_outside(flow, queue.flow) and NEWCOMER or flow[TURN], lane)
  else
    redis.call('ZREM', OPEN, lane)
  end
  if opens and opens > 0 then
    redis.call('ZADD', TIMED, opens, lane)
  else
    redis.call('ZREM', TIMED, lane)
  end
end

-- Put the lanes that were stirred in their places, and save what the limits remember.
local function close_round(now)
  for lane in pairs(stirred) do
    place(lane, now)
  end
  for lane in pairs(changed) do
    redis.call('HSET', LANES, lane, cmsgpack.pack(flows[lane]))
  end
  if queue.has_changed then
    redis.call('HSET', META, 'flow', cmsgpack.pack(queue.flow))
  end
  stirred, changed, queue.has_changed = {}, {}, false
end

-- Tell when a ready job may start: 0 if one may now, nil if none is there or only an event can let it.
local function next_start(now)
  if not queue.flowing then
    return redis.call('EXISTS', READY) == 1 and 0 or nil
  end
  local opens = (queue.sweep or redis.call('EXISTS', OPEN) == 1) and 0
    or tonumber(redis.call('ZRANGE', TIMED, 0, 0, 'WITHSCORES')[2])
  local of_queue = opens and queue_opening(now)
  return of_queue and math.max(opens, of_queue)
end

-- Tell when something can be claimed here: 0 if something can now, nil if nothing is to come.
local function next_claimable(now)
  if is_paused() then
    return nil
  end
  local starts = next_start(now)
  if starts == 0 then
    return 0
  end
  local due = tonumber(redis.call('ZRANGE', LATER, 0, 0, 'WITHSCORES')[2])
  return starts and due and math.min(starts, due) or starts or due
end
