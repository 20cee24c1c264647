-- How a run ends. Where the job lands is decided by `policy.landing`; it arrives here as a plan: one landing, or four
-- of which the job's own values choose (by: has it used up its crash budget, was it asked to cancel).
-- A landing is state, delay or false (keep the due time), failures to charge, crashes to charge, reason, whether its
-- expiry is forgotten, what becomes of its story ('keep', 'clear' or 'tell'), whether it is parked for an unknown task,
-- whether it opens its next generation.
-- include: moves

local function chosen(plan, head)
  if #plan == 1 then
    return plan[1]
  end
  local is_poison = head[CRASHES] + 1 >= math.max(head[BUDGET], 1)
  return plan[1 + (is_poison and 2 or 0) + (head[CANCEL_ASKED] and 1 or 0)]
end

-- Keep the run, if it was one: a claim that was handed back unstarted has no outcome.
local function remember(stamp, head, run, now)
  if not run.outcome then
    return
  end
  local number = head[RUN_COUNT] + 1
  head[RUN_COUNT] = number
  redis.call('HSET', RUNS, stamp .. ':' .. number, cmsgpack.pack({
    head[DELIVERIES], head[GENERATION], head[WORKER], head[TOKEN], head[CLAIMED], now,
    run.took, run.outcome, run.reason or false, run.error or false, run.traceback or false,
  }))
  if number > KEEP_RUNS then
    redis.call('HDEL', RUNS, stamp .. ':' .. (number - KEEP_RUNS))
  end
end

local function explain(stamp, how, reason, run)
  if how == 'clear' or how == 'tell' and not (reason or run.error or run.traceback) then
    redis.call('HDEL', STORY, stamp)
  elseif how == 'tell' then
    redis.call('HSET', STORY, stamp, cmsgpack.pack({ reason or false, run.error or false, run.traceback or false }))
  end
end

-- Tell the limits of the job's lane and of its queue how its run ended.
local function tell_limits(lane, run, now)
  if run.slows > 0 then
    begin_to_flow()
    local slowed = lane == '' and queue.flow or changing_flow(lane)
    slowed[SLOW_UNTIL] = math.max(slowed[SLOW_UNTIL], now + run.slows)
    queue.has_changed = true
  end
  if queue.limits[BREAKER] then
    end_run(queue.flow, queue.limits, run.told, now)
    queue.has_changed = true
  end
  if queue.lane_limits[BREAKER] then
    end_run(changing_flow(lane), queue.lane_limits, run.told, now)
  end
end

-- Carry out one verdict on a running job. Give whether it has ended.
local function land(stamp, head, run, now)
  local state, delay, failures, crashes, reason, forgets, how, is_orphan, is_anew = unpack(chosen(run.plan, head), 1, 9)
  remember(stamp, head, run, now)
  lift(stamp, head)
  tell_limits(head[LANE] or '', run, now)
  head[WORKER], head[TOKEN], head[CLAIMED] = false, false, false
  head[FAILURES], head[CRASHES] = head[FAILURES] + failures, head[CRASHES] + crashes
  if is_anew then
    head[GENERATION], head[FAILURES], head[CRASHES] = head[GENERATION] + 1, 0, 0
  end
  if delay then
    head[DUE] = now + delay
  end
  if forgets then
    head[EXPIRES] = false
  end
  explain(stamp, how, reason, run)
  if run.outcome == 'done' then
    succeed(head, now)
  end
  if state == 'succeeded' then
    head[RESULT_UNTIL] = now + head[RESULT_TTL] * SECOND
    if run.result then
      redis.call('HSET', RESULTS, stamp, run.result)
    end
  end
  if FINAL[state] then
    finish(head, state, now)
  end
  lay(stamp, head, state, is_orphan)
  return FINAL[state] or false
end

-- Land everything a worker holds here, in the order of arrival, and end its lease for ever. Give ids and whether any
-- ended.
local function end_lease(worker, run, now)
  local ids, has_ended = {}, false
  if redis.call('ZREM', LEASES, worker) == 1 then
    redis.call('ZADD', ENDED, now, worker)
    redis.call('HDEL', TASKS, worker)
  end
  for _, member in ipairs(under(RUNNING, worker)) do
    local stamp = stamp_at_end(member)
    local head = load(stamp)
    ids[#ids + 1] = head[ID]
    has_ended = land(stamp, head, run, now) or has_ended
  end
  return ids, has_ended
end
