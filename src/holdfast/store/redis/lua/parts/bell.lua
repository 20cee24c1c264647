-- Whom a step concerns. Waiters hear of a queue in which something can be claimed sooner than before; watchers hear
-- that a job has ended or gone, and producers, at the same channel, that there is room. A message that nobody hears is
-- made up for by their slow look.
-- include: bounds
-- Args: ARGV[3] and ARGV[4] are the channels of waiters and of watchers, ARGV[5] is the queue.

local function ring_if_sooner(before, now)
  local after = next_claimable(now)
  if after and (not before or after < before) then
    redis.call('PUBLISH', ARGV[3], ARGV[5])
  end
end

-- For steps that make something claimable only by letting in what was spilled, or by a key that is handed on.
local function ring_if_entered()
  if has_entered then
    redis.call('PUBLISH', ARGV[3], ARGV[5])
  end
end

local function ring_for_watchers(has_ended)
  if has_ended or not had_room and has_room() then
    redis.call('PUBLISH', ARGV[4], ARGV[5])
  end
end
