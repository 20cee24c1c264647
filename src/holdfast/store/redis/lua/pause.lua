#!lua flags=allow-oom
-- Hand out nothing from a queue, or from one of its lanes.
-- include: round
-- Args: now, again, '1' if a lane is meant, the lane.
-- Answer: 1 if that changed anything, else 0.
local now = now_us()

local function pause_queue()
  redis.call('HSET', META, 'paused', '1')
  return not is_paused()
end

local function pause_lane(lane)
  begin_to_flow()
  local flow = changing_flow(lane)
  local was_paused = flow[IS_PAUSED]
  flow[IS_PAUSED] = true
  stir(lane)
  close_round(now)
  return not was_paused
end

redis.call('HSETNX', META, 'order', 'fifo')
local has_changed
if ARGV[3] == '1' then
  has_changed = pause_lane(ARGV[4])
else
  has_changed = pause_queue()
end
return has_changed and 1 or 0
