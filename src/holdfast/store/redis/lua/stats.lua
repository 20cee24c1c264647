#!lua flags=no-writes
-- Tell what one queue holds and how it is set.
-- include: round
-- Args: now, again.
-- Answer: now, declared policy, overlay, paused, states with their counts, the due time of the oldest ready job and
-- of the next scheduled one, what the queue's own limits remember, how many pushes were
-- refused.
-- Cost: O(log n) for each priority in use.
local now = now_us()

local function due_of(member)
  return (struct.unpack('>I8', member))
end

-- Among jobs of one priority the first is the one due longest: one look for each.
local function oldest_ready()
  local oldest, above = math.huge, '-inf'
  while true do
    local first = redis.call('ZRANGE', READY, above, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    if not first[1] then
      return oldest
    end
    oldest = math.min(oldest, due_of(first[1]))
    above = '(' .. first[2]
  end
end

local late = redis.call('ZCOUNT', LATER, '-inf', now)
local head = redis.call('ZRANGE', LATER, 0, 0, 'WITHSCORES')
local next_due = redis.call('ZRANGE', LATER, '(' .. digits(now), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
local oldest = math.min(oldest_ready(), tonumber(redis.call('ZRANGE', SINCE, 0, 0, 'WITHSCORES')[2]) or math.huge)
if late > 0 then
  oldest = math.min(oldest, tonumber(head[2]))
end
return {
  digits(now),
  redis.call('HMGET', META, 'declared', 'overlay'),
  is_paused() and 1 or 0,
  {
    'ready', redis.call('ZCARD', READY) + redis.call('ZCARD', LANED) + late,
    'scheduled', redis.call('ZCARD', LATER) - late,
    'running', redis.call('ZCARD', RUNNING),
    'parked', redis.call('ZCARD', PARKED),
    'waiting', redis.call('ZCARD', WAITING),
    'spilled', redis.call('ZCARD', SPILLED),
  },
  redis.call('HGETALL', COUNTS),
  oldest < math.huge and digits(oldest) or '',
  next_due[2] or '',
  cmsgpack.pack(queue.flow),
  redis.call('HGET', META, 'refused') or '0',
}
