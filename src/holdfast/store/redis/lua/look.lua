#!lua flags=no-writes
-- Tell a waiter or a claimer what it may find in one queue.
-- include: round
-- Args: now, again.
-- Answer: now, when something can be claimed ('0': now; '': nothing is to come), whether a claim has anything
-- to do, whether the queue has limits.
local now = now_us()
local soonest = next_claimable(now)
local is_busy = soonest and soonest <= now
  or not is_paused() and (redis.call('EXISTS', PARKED) == 1 or redis.call('ZCOUNT', EXPIRING, '-inf', now) > 0)
return { digits(now), soonest and digits(soonest) or '', is_busy and 1 or 0, queue.is_limited and 1 or 0 }
