#!lua flags=allow-oom
-- Carry out verdicts on jobs of one queue.
-- include: fence, landing, bell
-- Args: now, again, bell, over, queue, verdicts as msgpack: stamp, id, token, plan, took, outcome (nil: it was no
-- run), reason, error, traceback, result, what it tells a breaker, how long its lane is to be left alone.
-- Answer: place and reason of each verdict that was refused.
-- Guarantee: new state, run record, result and what the limits learn in one step; a token that is not the job's current
-- one changes nothing.
-- Sent again after a lost answer, a verdict that had been carried out is not reported as refused.
local now, has_ended, lost = now_us(), false, {}
local before = next_claimable(now)

-- Tell whether an earlier call has carried this verdict out. What was handed back unstarted leaves no trace, and
-- nothing to lose.
local function has_landed(stamp, token, outcome)
  local head = load(stamp)
  if not outcome or not head then
    return not outcome
  end
  for number = first_run(head), head[RUN_COUNT] do
    if cmsgpack.unpack(redis.call('HGET', RUNS, stamp .. ':' .. number))[4] == token then
      return true
    end
  end
  return false
end

for place, verdict in ipairs(cmsgpack.unpack(ARGV[6])) do
  local stamp, id, token, plan, took, outcome, reason, err, traceback, result = unpack(verdict, 1, 10)
  local told, slows = verdict[11], verdict[12]
  local head, why = held(stamp, id, token)
  if head then
    local run = {
      plan = plan, took = took, outcome = outcome, reason = reason, error = err, traceback = traceback, result = result,
      told = told, slows = slows,
    }
    has_ended = land(stamp, head, run, now) or has_ended
  elseif not (is_again() and has_landed(stamp, token, outcome)) then
    lost[#lost + 1] = place
    lost[#lost + 1] = why
  end
end
close_step(now)
ring_if_sooner(before, now)
ring_for_watchers(has_ended)
return lost
