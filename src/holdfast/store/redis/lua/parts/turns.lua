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
  local heads_of = {} -- lane -> the first ready job of each of its priorities, and which of them was chosen

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

  -- Give the first of the ready jobs of a lane in this range: since when it has waited, due, stamp; its member, and what the
  -- members of its priority have in common. The numbers decide: how texts are compared is a matter of the server's locale.
  local function head_between(lane, from, to)
    local member, common, priority
    if lane == '' then
      member, common = unpack(redis.call('ZRANGE', READY, from, to, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES'))
      priority = member and -common
    else
      member = redis.call('ZRANGE', LANED, from, to, 'BYLEX', 'LIMIT', 0, 1)[1]
      common = member and string.sub(member, 1, -8 - STAMP_BYTES - 1)
      priority = member and LOWEST - struct.unpack('>I5', member, #lane + 2)
    end
    if member then
      local due, stamp = struct.unpack('>I8I7', member, #member - 8 - STAMP_BYTES + 1)
      return { aged(priority, due), due, stamp, member, common }
    end
  end

  -- Give the first job of the next priority, behind that whose members have this in common, or of all.
  local function next_head(lane, common)
    if lane == '' then
      return head_between(lane, common and '(' .. common or '-inf', '+inf')
    end
    return head_between(lane, common and '(' .. common .. '\255' or '[' .. lane .. '\0', '(' .. lane .. '\1')
  end

  local function head_again(lane, common)
    if lane == '' then
      return head_between(lane, common, common)
    end
    return head_between(lane, '[' .. common, '(' .. common .. '\255')
  end

  local function read_heads(lane)
    local heads, head = {}, next_head(lane)
    while head do
      heads[#heads + 1] = head
      head = next_head(lane, head[5])
    end
    return heads
  end

  -- Choose among the first jobs of each priority. They are read once in a claim, one seek for each: while it lasts no job
  -- becomes ready, and only the one that was chosen last has left.
  local function longest_waiting(lane)
    local heads = heads_of[lane] or read_heads(lane)
    local left = heads.chosen and table.remove(heads, heads.chosen)
    heads[#heads + 1] = left and head_again(lane, left[5])
    heads_of[lane], heads.chosen = heads, heads[1] and 1
    for place = 2, #heads do
      if is_before(heads[place], heads[heads.chosen]) then
        heads.chosen = place
      end
    end
    return heads.chosen and heads[heads.chosen][4]
  end

  -- Give the member of the best ready job of a lane, if it has any.
  -- Cost: O(log n); where priorities age, in each claim, for each priority that the jobs of the lane have.
  function best_in(lane)
    if queue.ageing then
      return longest_waiting(lane)
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
