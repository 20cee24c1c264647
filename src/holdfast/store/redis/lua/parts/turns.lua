-- How a claim chooses: the best job of a lane, and, in a queue that flows, the lane whose turn it is.
-- include: moves

-- Look at lanes whose time has come.
local function wake_timed(now)
  for _, lane in ipairs(redis.call('ZRANGE', TIMED, '-inf', now, 'BYSCORE', 'LIMIT', 0, SLICE)) do
    place(lane, now)
  end
end

-- Look again, by name, at some of the lanes that stand where an old policy put them.
local function sweep(now)
  local lane = queue.sweep
  if lane == '' then
    place('', now)
  end
  for _ = 1, SLICE do
    lane = lane_behind(lane)
    if not lane then
      break
    end
    place(lane, now)
  end
  queue.sweep = lane or false
  if lane then
    redis.call('HSET', META, 'sweep', lane)
  else
    redis.call('HDEL', META, 'sweep')
  end
end

-- Give the best ready jobs without a lane, of one priority at most if the queue is LIFO: within a priority it is read
-- backwards.
local function best(number)
  if queue.order ~= 'lifo' then
    return redis.call('ZRANGE', READY, 0, number - 1)
  end
  local first = redis.call('ZRANGE', READY, 0, 0, 'WITHSCORES')
  if not first[2] then
    return {}
  end
  return redis.call('ZRANGE', READY, first[2], first[2], 'BYSCORE', 'REV', 'LIMIT', 0, number)
end

local best_in
do -- a block, since Lua has room for 200 local names at a time
  -- Tell since when a job has waited, had it the priority 0: whoever has done so longest is the best.
  local function aged(priority, due)
    local most = queue.ageing[2]
    return due - math.max(-most, math.min(priority, most)) * queue.ageing[1]
  end

  local function is_before(one, other)
    for place = 1, 3 do
      if one[place] ~= other[place] then
        return one[place] < other[place]
      end
    end
  end

  -- Give the best of some members. `next_head` gives one after the other, with its priority, then nil. They end with due
  -- and stamp. Those are compared as numbers: how texts are compared is a matter of the server's locale.
  local function best_of(next_head)
    local first
    for head, priority in next_head do
      local due, stamp = struct.unpack('>I8I7', head, #head - 8 - STAMP_BYTES + 1)
      local one = { aged(priority, due), due, stamp, head }
      if not first or is_before(one, first) then
        first = one
      end
    end
    return first and first[4]
  end

  -- Give the longest due of each priority of the jobs without a lane. One seek for each.
  local function heads()
    local from = '-inf'
    return function()
      local head, score = unpack(redis.call('ZRANGE', READY, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES'))
      from = head and '(' .. score
      return head, head and -score
    end
  end

  -- Give the longest due of each priority of the jobs of a lane. One seek for each.
  local function heads_in(lane)
    local from = '[' .. lane .. '\0'
    return function()
      local head = redis.call('ZRANGE', LANED, from, '(' .. lane .. '\1', 'BYLEX', 'LIMIT', 0, 1)[1]
      from = head and '(' .. string.sub(head, 1, -8 - STAMP_BYTES - 1) .. '\255'
      return head, head and LOWEST - struct.unpack('>I5', head, #lane + 2)
    end
  end

  -- Give the member of the best ready job of a lane, if it has any.
  -- Cost: O(log n); where priorities age, for each priority that the jobs of the lane have.
  function best_in(lane)
    if queue.ageing then
      return best_of(lane == '' and heads() or heads_in(lane))
    end
    if lane == '' then
      return best(1)[1]
    end
    local first = under(LANED, lane, 1)[1]
    if not first or queue.order ~= 'lifo' then
      return first
    end
    local equals = string.sub(first, 1, -8 - STAMP_BYTES - 1) -- lane and priority
    return redis.call('ZRANGE', LANED, '(' .. equals .. '\255', '[' .. equals, 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
  end
end

local function weight_of(lane)
  return queue.has_weights and tonumber(redis.call('HGET', WEIGHTS, lane)) or 1
end

-- Let newcomers take their places in the round, as many as may be served now, or a slice.
local function take_in_newcomers(wanted)
  local most = math.max(SLICE, wanted)
  for _, lane in ipairs(redis.call('ZRANGE', OPEN, NEWCOMER, NEWCOMER, 'BYSCORE', 'LIMIT', 0, most)) do
    local flow = changing_flow(lane)
    join(flow, queue.flow, weight_of(lane))
    redis.call('ZADD', OPEN, flow[TURN], lane)
  end
end

-- Give the lane whose turn it is, if any may start a job.
local function next_lane()
  return redis.call('ZRANGE', OPEN, '(' .. NEWCOMER, '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
end

-- Charge the lane and the queue for a job that starts now.
local function charge(lane, now)
  local flow = changing_flow(lane)
  queue.has_changed = true
  start(queue.flow, queue.limits, now)
  start(flow, queue.lane_limits, now)
  move_on(flow, queue.flow, weight_of(lane))
end

-- Hand out the best job of a lane, if it may start one, and put the lane in its place again. Give whether.
local function serve(lane, hand_out, now)
  local best_of_lane = lane_opening(lane, now) == 0 and best_in(lane)
  local is_served = best_of_lane and hand_out(stamp_at_end(best_of_lane))
  if is_served then
    charge(lane, now)
  end
  place(lane, now)
  return is_served
end
