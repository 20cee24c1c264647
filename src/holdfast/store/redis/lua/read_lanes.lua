#!lua flags=no-writes
-- Tell how lanes of one queue are.
-- include: round
-- Args: now, again, lane...
-- Answer: now; per lane how many ready jobs it has, and what its limits remember.
local answers = {}

local function count_ready(lane)
  if lane == '' then
    return redis.call('ZCARD', READY)
  end
  return redis.call('ZLEXCOUNT', LANED, '[' .. lane .. '\0', '(' .. lane .. '\1')
end

for place = 3, #ARGV do
  local lane = ARGV[place]
  local flow = flow_of(lane)
  if lane == '' and not queue.flowing then
    flow[IN_HAND] = redis.call('ZCARD', RUNNING)
  end
  answers[#answers + 1] = count_ready(lane)
  answers[#answers + 1] = cmsgpack.pack(flow)
end
return { digits(now_us()), answers }
