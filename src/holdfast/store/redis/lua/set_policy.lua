#!lua flags=allow-oom
-- Set what is declared of a queue and what an operator has set over it, if nobody else has since it was read.
-- include: bell, drains
-- Args: now, again, bell, over, queue, revision that was read, declared, overlay, order, '1' if the queue is to flow,
-- policy in force as msgpack: limits, limits of its lanes (see flow.lua), whether there is any, whether there are
-- weights, how priorities age (see round.lua), whether drains are told; pairs of lane and weight as msgpack; bounds as
-- msgpack (see bounds.lua) or ''.
-- Answer: 1, or 0 if someone has been faster: read it anew.
-- Guarantee: what the policy follows from is never older than the policy. Sent again after a lost answer, it is the
-- same change.
-- Cost: O(weights), however many lanes there are: the next claims look at them.
local revision, declared, overlay, order, flows_now, policy = unpack(ARGV, 6, 11)
local now = now_us()
local before = next_claimable(now)

local function is_done_already(known)
  local told = redis.call('HMGET', META, 'declared', 'overlay')
  return is_again() and tonumber(known) == revision + 1 and told[1] == declared and told[2] == overlay
end

local function set_weights(pairs_of)
  redis.call('DEL', WEIGHTS)
  for _, pair in ipairs(pairs_of) do
    redis.call('HSET', WEIGHTS, pair[1], pair[2])
  end
end

-- A bound that is lifted stays known, as none, until all that was spilled has got in.
local function set_bounds(bounds)
  if bounds == '' and redis.call('EXISTS', SPILLED) == 0 then
    queue.bounds = false
    redis.call('HDEL', META, 'bounds')
  else
    queue.bounds = bounds == '' and { false, false, 0 } or cmsgpack.unpack(bounds)
    redis.call('HSET', META, 'bounds', cmsgpack.pack(queue.bounds))
  end
end

local known = redis.call('HGET', META, 'revision') or '0'
if known ~= revision then
  return is_done_already(known) and 1 or 0
end
redis.call('HSET', META, 'order', order, 'declared', declared, 'overlay', overlay, 'revision', digits(revision + 1))
redis.call('HSET', META, 'policy', policy)
set_weights(cmsgpack.unpack(ARGV[12]))
local told_drains = queue.tells_drained
take_on(policy)
if queue.tells_drained and not told_drains then
  begin_to_tell()
end
set_bounds(ARGV[13])
if flows_now == '1' then
  begin_to_flow()
end
if queue.flowing then
  queue.sweep = ''
  redis.call('HSET', META, 'sweep', '')
end
close_step(now)
ring_if_sooner(before, now)
ring_for_watchers(false)
return 1
