-- Whom a step concerns. Waiters hear of a queue in which something can be claimed sooner than before; watchers hear
-- that a job has ended or gone. A message that nobody hears is made up for by their slow look.
-- Args: ARGV[3] and ARGV[4] are the channels of waiters and of watchers, ARGV[5] is the queue.

local function ring_if_sooner(before, now)
  local after = next_claimable(now)
  if after and (not before or after < before) then
    redis.call('PUBLISH', ARGV[3], ARGV[5])
  end
end

local function ring_for_watchers(has_ended)
  if has_ended then
    redis.call('PUBLISH', ARGV[4], ARGV[5])
  end
end
