-- When a queue has drained, and who was told. The rules are those of `policy.flow`, once more in Lua.
-- include: round

local DRAINS, TOLD = 11, 12

-- Count drains from now on: what has started before is of no concern, unless it still runs when somebody looks.
local function begin_to_tell()
  queue.flow[IS_BUSY], queue.flow[TOLD] = false, queue.flow[DRAINS]
  queue.has_changed = true
end

-- Note whether the queue has drained. Give the number of its last drain, if somebody has yet to act on it, else nil.
local function look_for_drain(has_running, has_open)
  local flow = queue.flow
  if has_running and not flow[IS_BUSY] then
    flow[IS_BUSY] = true
    queue.has_changed = true
  elseif flow[IS_BUSY] and not has_running and not has_open then
    flow[IS_BUSY], flow[DRAINS] = false, flow[DRAINS] + 1
    queue.has_changed = true
  end
  return flow[DRAINS] > flow[TOLD] and flow[DRAINS] or nil
end

-- Note that somebody has acted on this drain, and so on all before it. One that never was is none.
local function tell_of_drain(number)
  queue.flow[TOLD] = math.max(queue.flow[TOLD], math.min(number, queue.flow[DRAINS]))
  queue.has_changed = true
end
