#!lua flags=allow-oom
-- Look whether one queue has drained, if its policy wants that told.
-- include: drains
-- Args: now, again.
-- Answer: the number of its last drain, if somebody has yet to act on it, else 0.
-- Guarantee: no job starts, ends or comes between the look and the note. Sent again, it answers the same.
-- Cost: O(1).
local number

local function has_any(keys)
  for _, key in ipairs(keys) do
    if redis.call('EXISTS', key) == 1 then
      return true
    end
  end
  return false
end

if queue.tells_drained then
  number = look_for_drain(has_any({ RUNNING }), has_any({ READY, LANED, LATER, WAITING, SPILLED }))
  close_round(now_us())
end
return number or 0
