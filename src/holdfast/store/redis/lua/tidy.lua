#!lua flags=allow-oom
-- Do one slice of one queue's upkeep: end what has expired, drop what is past its term, forget lanes that rest, old
-- successes and keys that were seen long ago.
-- include: recent, answers, bell
-- Args: now, again, bell, over, queue, slice, how long a mark in `gone` stands.
-- Answer: how many expired, how many were dropped, when there will be something to do again (or nothing), and the marks
-- in `gone` that the house is to forget: those of this slice, and older ones whose dropper may have died.
local LOOK_AGAIN = 60 * SECOND
local now, slice = now_us(), tonumber(ARGV[6])

local function first(key)
  return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
end

-- Forget up to `limit` lanes that hold no jobs and would be the same if they were made anew.
local function forget_idle(limit)
  for _, lane in ipairs(redis.call('ZRANGE', IDLE, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)) do
    local flow = flow_of(lane)
    if flow[IN_HAND] > 0 or has_ready(lane) then
      redis.call('ZREM', IDLE, lane) -- it comes back when it is empty
    elseif is_forgettable(flow, queue.flow, now) then
      redis.call('ZREM', IDLE, lane)
      redis.call('HDEL', LANES, lane)
    else
      redis.call('ZADD', IDLE, math.max(now + LOOK_AGAIN, rests_until(flow)), lane)
    end
  end
end

local expired = expire_due(slice, now)
local ripe = redis.call('ZRANGE', KEPT, '-inf', now, 'BYSCORE', 'LIMIT', 0, slice)
local marks = redis.call('ZRANGE', GONE, '-inf', digits(now - ARGV[7]), 'BYSCORE', 'LIMIT', 0, slice)
local old = #marks
for _, bytes in ipairs(ripe) do
  local stamp = stamp_in(bytes, 1)
  local head = load(stamp)
  drop(stamp, head, now)
  marks[#marks + 1] = bytes .. head[ID]
end
forget_recent(slice)
close_step(now)
forget_idle(slice)
forget_successes(slice, now)
seen().forget_old(slice, now)
forget_answers(slice, now)
local soonest = math.min(first(EXPIRING) or math.huge, first(KEPT) or math.huge)
ring_if_entered()
ring_for_watchers(expired + #ripe > 0)
return { expired, #ripe, soonest < math.huge and digits(soonest) or '', old, marks }
