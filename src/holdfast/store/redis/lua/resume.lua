#!lua flags=allow-oom
-- End the pause of a queue, or of one of its lanes, and whatever a breaker or a slow verdict holds against it.
-- include: bell
-- Args: now, again, bell, over, queue, '1' if a lane is meant, the lane.
-- Answer: 1 if that changed anything, else 0.
local now = now_us()
local before = next_claimable(now)

local function resume_queue()
  local was_paused = is_paused()
  if was_paused then
    redis.call('HSET', META, 'paused', '0')
    queue.paused = '0'
  end
  queue.has_changed = release(queue.flow, now)
  return was_paused or queue.has_changed
end

local function resume_lane(lane)
  if not release(flow_of(lane), now) then
    return false
  end
  changing_flow(lane)
  stir(lane)
  return true
end

local has_changed
if ARGV[6] == '1' then
  has_changed = resume_lane(ARGV[7])
else
  has_changed = resume_queue()
end
close_round(now)
ring_if_sooner(before, now)
return has_changed and 1 or 0
