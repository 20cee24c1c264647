#!lua flags=allow-oom
-- Hand up to `limit` of the best jobs of one queue to one worker.
-- include: moment, shelf, bell
-- Args: now, again, bell, over, queue, worker, limit, nonce, how long its lease lives yet or '', its tasks as msgpack or '', nonces
-- of earlier calls whose answers were lost, with a space before each.
-- Answer: 'lease' if no live lease is known here (ask the house, and send it along), 'ended' if it was ended here;
-- else head and body of each job.
-- Guarantee: a job goes to at most one caller; its delivery is charged in the same step. What a lost answer held is
-- given first, under a new token, so that no answer that arrived holds a job of another one. Works when the server is
-- out of memory.
local PROMOTE = 1000
local now, has_ended, answers = now_us(), false, {}
local worker, limit, nonce = ARGV[6], tonumber(ARGV[7]), ARGV[8]

-- Give nil if the worker may claim, else the answer that says why not.
local function refusal()
  if redis.call('ZSCORE', ENDED, worker) then
    return 'ended'
  end
  if ARGV[9] ~= '' then
    redis.call('ZADD', LEASES, 'GT', digits(now + ARGV[9]), worker)
    redis.call('HSET', TASKS, worker, ARGV[10])
  end
  local ends = redis.call('ZSCORE', LEASES, worker)
  return not (ends and tonumber(ends) >= now) and 'lease' or nil
end

local function promote()
  for _, bytes in ipairs(redis.call('ZRANGE', LATER, '-inf', now, 'BYSCORE', 'LIMIT', 0, PROMOTE)) do
    local stamp = stamp_in(bytes, 1)
    local head = load(stamp)
    lift(stamp, head)
    lay(stamp, head, 'ready')
  end
end

-- Make ready up to `limit` jobs that were parked because nobody knew their task, oldest first.
local function recall()
  if redis.call('EXISTS', PARKED) == 0 then
    return
  end
  local found = {}
  for _, task in ipairs(cmsgpack.unpack(redis.call('HGET', TASKS, worker))) do
    for _, member in ipairs(under(PARKED, 't' .. task, limit)) do
      found[#found + 1] = string.sub(member, -STAMP_BYTES)
    end
  end
  table.sort(found)
  for place = 1, math.min(limit, #found) do
    local stamp = stamp_in(found[place], 1)
    local head = load(stamp)
    lift(stamp, head)
    redis.call('HDEL', STORY, stamp)
    lay(stamp, head, 'ready')
  end
end

local function answer(stamp, packed)
  answers[#answers + 1] = packed
  answers[#answers + 1] = redis.call('HGET', BODY, stamp)
end

local function token_of(stamp, head)
  return string.format('%d-%s%x', head[DELIVERIES], nonce, stamp)
end

-- Give a job that is held already, under a token of this call.
local function give_again(stamp, head)
  local token = token_of(stamp, head)
  if head[CANCEL_ASKED] then
    redis.call('ZREM', ASKED, worker .. '\0' .. head[TOKEN])
    redis.call('ZADD', ASKED, 0, worker .. '\0' .. token)
  end
  head[TOKEN] = token
  save(stamp, head)
  answer(stamp, cmsgpack.pack(head))
end

-- Give what was handed out in answers that were lost.
local function hand_over(lost)
  for _, member in ipairs(under(RUNNING, worker)) do
    local stamp = stamp_in(member, #worker + 2)
    local head = load(stamp)
    local made_with = string.match(head[TOKEN], '%-(................)')
    if #answers < 2 * limit and string.find(lost, ' ' .. made_with, 1, true) then
      give_again(stamp, head)
    end
  end
end

local function take(stamp, head)
  head[DELIVERIES] = head[DELIVERIES] + 1
  head[STATE], head[WORKER], head[CLAIMED] = 'running', worker, now
  head[TOKEN] = token_of(stamp, head)
  if head[DELIVERIES] > 1 then
    redis.call('HDEL', NOTES, stamp)
  end
  redis.call('ZADD', RUNNING, 0, worker .. '\0' .. bytes_of(stamp))
  local packed = cmsgpack.pack(head)
  redis.call('HSET', HEAD, stamp, packed)
  answer(stamp, packed)
end

-- Give the best ready jobs, of one priority at most if the queue is LIFO: within a priority it is read backwards.
local function best(number)
  if redis.call('HGET', META, 'order') ~= 'lifo' then
    return redis.call('ZRANGE', READY, 0, number - 1)
  end
  local first = redis.call('ZRANGE', READY, 0, 0, 'WITHSCORES')
  if not first[2] then
    return {}
  end
  return redis.call('ZRANGE', READY, first[2], first[2], 'BYSCORE', 'REV', 'LIMIT', 0, number)
end

local function hand_out()
  while #answers < 2 * limit do
    local members = best(math.min(limit - #answers / 2, PROMOTE))
    if #members == 0 then
      return
    end
    for _, member in ipairs(members) do
      local stamp = stamp_in(member, 9)
      local head = load(stamp)
      if head[EXPIRES] and head[EXPIRES] <= now then -- more had expired than the bounded part could end
        expire(stamp, head, now)
        has_ended = true
      else
        lift(stamp, head)
        take(stamp, head)
      end
    end
  end
end

if redis.call('EXISTS', META) == 0 then -- there is no such queue, and asking does not make it
  return ARGV[9] == '' and 'lease' or answers
end
local refused = refusal()
if refused then
  return refused
end
local lost = ARGV[11] .. (is_again() and ' ' .. nonce or '')
if lost ~= '' then
  hand_over(lost)
end
if not is_paused() then
  has_ended = expire_due(PROMOTE, now) > 0
  promote()
  recall()
  hand_out()
end
ring_for_watchers(has_ended)
return answers
