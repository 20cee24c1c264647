#!lua
-- Store the jobs of one queue that have their stamps: the second half of a push.
-- include: moment, shelf, bell
-- Args: now, again, bell, over, queue, jobs as msgpack: stamp, id, task, priority, delay, at, expires, crash budget,
-- keep_done, keep_dead, result_ttl, tags, body, whether the stamp was made for this push.
-- Answer: per job 1 (created), 0 (it is there) or -1 (its stamp is of a job that is gone: reserve anew).
-- Guarantee: a stamp is stored once, however often it is sent. Refused as a whole when the server is out of memory.
-- Sent again after a lost answer, a job with a stamp of its own that is there was stored by the earlier call: created.
local now, before, answers = now_us(), next_claimable(), {}
redis.call('HSETNX', META, 'order', 'fifo')
for place, job in ipairs(cmsgpack.unpack(ARGV[6])) do
  local stamp, id, task, priority, delay, at, expires = unpack(job, 1, 7)
  local budget, keep_done, keep_dead, ttl, tags, body, is_fresh = unpack(job, 8, 14)
  if redis.call('HEXISTS', HEAD, stamp) == 1 then
    answers[place] = is_fresh and is_again() and 1 or 0
  elseif redis.call('ZSCORE', GONE, bytes_of(stamp) .. id) then
    answers[place] = -1
  else
    local due = math.max(now, at or now + delay)
    redis.call('HSET', BODY, stamp, body)
    for _, tag in ipairs(tags or {}) do
      redis.call('ZADD', TAGS, 0, tag .. '\0' .. bytes_of(stamp))
    end
    lay(stamp, {
      id, task, false, priority, due, now, expires or false, 1, 0, 0, 0, budget, keep_done, keep_dead, ttl,
      false, false, false, false, false, false, false, tags or false, 0,
    }, due > now and 'scheduled' or 'ready')
    answers[place] = 1
  end
end
ring_if_sooner(before)
return answers
