-- What becomes of a push under a key that is known already. `policy.identity` rules: what it rules on each kind of job
-- comes along with the push, and here the case is chosen that is at hand.
-- include: bounds

-- Give who has a key, and its last success.
local function known_of(key)
  local entry = entry_of(key)
  local known = { holder = entry[HOLDER], successor = entry[SUCCESSOR], success = entry[SUCCESS] }
  known.holder_head = known.holder and load(known.holder)
  known.successor_head = known.successor and load(known.successor)
  return known
end

local function is_needless(job, success, now)
  if not success or success[3] <= now then
    return false
  end
  local is_same = success[4] == (job.version or false)
  return now < success[2] + (is_same and job.fresh_after_same or job.fresh_after_other)
end

-- Give what is to be done with a push, and to which job: its stamp and head.
local function ruled(job, known, now)
  local holder = known.holder_head
  if not holder then
    return is_needless(job, known.success, now) and 'nothing' or 'create'
  end
  if holder[STATE] ~= 'running' then
    return job.on_waiting, known.holder, holder
  end
  local act = holder[VERSION] == (job.version or false) and job.on_running_same or job.on_running_other
  if act == 'follow' and known.successor then
    return job.on_waiting, known.successor, known.successor_head
  end
  return act, known.holder, holder
end

-- Tell what was known, from which the caller can say what became of the push, and why.
local function told(known, now)
  local function shown(head)
    return head and { head[ID], head[STATE] == 'running', head[VERSION] }
  end
  return cmsgpack.pack({ now, shown(known.holder_head), shown(known.successor_head), known.success })
end

-- Give a job that has yet to start the higher priority and the earlier time.
local function merge(stamp, head, priority, due)
  local state = head[STATE]
  local is_ranked = state ~= 'parked' and state ~= 'waiting'
  if is_ranked then
    lift(stamp, head)
  end
  head[PRIORITY], head[DUE] = math.max(head[PRIORITY], priority), math.min(head[DUE], due)
  if is_ranked then
    lay(stamp, head, state)
  else
    save(stamp, head)
  end
end

local function cancel_for(stamp, head, id, now)
  lift(stamp, head)
  give_reason(stamp, 'replaced by job ' .. id)
  finish(head, 'cancelled', now)
  lay(stamp, head, 'cancelled')
end

-- Cancel a job that is replaced, and a successor that waits for it. Give the state to take: that of a successor, if it
-- was one itself.
local function clear(stamp, head, known, id, now)
  if head[STATE] == 'waiting' then
    cancel_for(stamp, head, id, now)
    return 'waiting'
  end
  if known.successor then
    cancel_for(known.successor, known.successor_head, id, now)
  end
  cancel_for(stamp, head, id, now)
end

local function ask_to_stop(stamp, head)
  head[CANCEL_ASKED] = true
  redis.call('ZADD', ASKED, 0, head[WORKER] .. '\0' .. head[TOKEN])
  save(stamp, head)
end
