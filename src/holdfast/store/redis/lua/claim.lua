#!lua flags=allow-oom
-- Hand up to `limit` of the best jobs of one queue to one worker, and `ahead` more if the queue has no limits.
-- include: turns, bell
-- Args: now, again, bell, over, queue, worker, limit, ahead, nonce, how long its lease lives yet or '', its tasks as
-- msgpack or '', nonces of earlier calls whose answers were lost, with a space before each.
-- Answer: 'lease' if no live lease is known here (ask the house, and send it along), 'ended' if it was ended here;
-- else head and body of each job, and one more value at the end if the queue has limits.
-- Guarantee: a job goes to at most one caller; its delivery, and its start against every limit, is charged in the
-- same step. What a lost answer held is given first, under a new token and charged no more, so that no answer that
-- arrived holds a job of another one. Works when the server is out of memory.
local PROMOTE = 1000
local now, has_ended, answers = now_us(), false, {}
local worker, nonce, lease, tasks = ARGV[6], ARGV[9], ARGV[10], ARGV[11]
local most = ARGV[7] + (queue.is_limited and 0 or ARGV[8])

-- Give nil if the worker may claim, else the answer that says why not.
local function refusal()
  if redis.call('ZSCORE', ENDED, worker) then
    return 'ended'
  end
  if lease ~= '' then
    redis.call('ZADD', LEASES, 'GT', digits(now + lease), worker)
    redis.call('HSET', TASKS, worker, tasks)
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

-- Make ready as many jobs as are wanted that were parked because nobody knew their task, oldest first.
local function recall()
  if redis.call('EXISTS', PARKED) == 0 then
    return
  end
  local found = {}
  for _, task in ipairs(cmsgpack.unpack(redis.call('HGET', TASKS, worker))) do
    for _, member in ipairs(under(PARKED, 't' .. task, most)) do
      found[#found + 1] = tonumber(stamp_at_end(member))
    end
  end
  table.sort(found)
  for place = 1, math.min(most, #found) do
    local stamp = digits(found[place])
    local head = load(stamp)
    lift(stamp, head)
    redis.call('HDEL', STORY, stamp)
    lay(stamp, head, 'ready')
  end
end

local function wanted()
  return most - #answers / 2
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
    local stamp = stamp_at_end(member)
    local head = load(stamp)
    local made_with = string.match(head[TOKEN], '%-(................)')
    if wanted() > 0 and string.find(lost, ' ' .. made_with, 1, true) then
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
  count_running(head[LANE] or '', 1)
  local packed = cmsgpack.pack(head)
  redis.call('HSET', HEAD, stamp, packed)
  answer(stamp, packed)
end

-- Hand out a ready job, if its time to start has not passed: more may have expired than the bounded part could end.
-- Give whether. What is done in vain is bounded, too, so that a claim does not hold up the server.
local function hand_out(stamp)
  local head = load(stamp)
  if head[EXPIRES] and head[EXPIRES] <= now then
    expire(stamp, head, now)
    has_ended = true
    return false
  end
  lift(stamp, head)
  take(stamp, head)
  return true
end

-- Serve a queue that does not flow. It reads as many jobs at once as are wanted.
local function serve_plainly()
  local vain = 0
  while wanted() > 0 and vain < SLICE do
    local members = best(math.min(wanted(), PROMOTE))
    if #members == 0 then
      return
    end
    for _, member in ipairs(members) do
      vain = vain + (hand_out(stamp_at_end(member)) and 0 or 1)
    end
  end
end

-- Serve the lanes in their turns.
local function serve_by_turns()
  local vain = 0
  wake_timed(now)
  if queue.sweep then
    sweep(now)
  end
  take_in_newcomers(most)
  while wanted() > 0 and vain < SLICE and queue_opening(now) == 0 do
    local lane = next_lane()
    if not lane then
      return
    end
    vain = vain + (serve(lane, hand_out, now) and 0 or 1)
  end
end

if not queue.order then -- there is no such queue, and asking does not make it
  return lease == '' and 'lease' or answers
end
local refused = refusal()
if refused then
  return refused
end
local lost = ARGV[12] .. (is_again() and ' ' .. nonce or '')
if lost ~= '' then
  hand_over(lost)
end
if not is_paused() and most > 0 then
  has_ended = expire_due(PROMOTE, now) > 0
  promote()
  recall()
  if queue.flowing then
    close_round(now)
    serve_by_turns()
  else
    serve_plainly()
  end
  close_step(now)
end
ring_if_entered()
ring_for_watchers(has_ended)
if queue.is_limited then
  answers[#answers + 1] = '1'
end
return answers
