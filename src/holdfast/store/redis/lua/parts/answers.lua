-- What a call that changed the seen-set answered, in case the answer is lost: sent again, it would find its own marks.
-- include: seen
-- Args: ARGV[3] is the caller, ARGV[4] the number of the call.
--
-- A caller makes one call at a time, so its last one is all that is kept; for ten minutes, longer than a call is sent again.

local ANSWERS, ANSWERED = unpack(KEYS, 36, 37)
local KEEP_ANSWERS = 600 * SECOND

-- Give what the call answered when it was carried out, if that was before.
local function former_answer()
  local kept = is_again() and redis.call('HGET', ANSWERS, ARGV[3])
  local number, answer = string.match(kept or '', '^(%d+) (.*)$')
  return number == ARGV[4] and answer
end

local function keep_answer(answer, now)
  redis.call('HSET', ANSWERS, ARGV[3], ARGV[4] .. ' ' .. answer)
  redis.call('ZADD', ANSWERED, now, ARGV[3])
end

-- Do something to each of many digests. Give a text: '1' for each that it was true of, else '0'.
local function answer_each(digests, act)
  local answers = {}
  for at = 1, #digests, 16 do
    answers[#answers + 1] = act(string.sub(digests, at, at + 15)) and '1' or '0'
  end
  return table.concat(answers)
end

-- Change something about each of many digests. Give the same text; that of the first call if this one is sent again.
local function change_each(digests, act, now)
  local answer = former_answer()
  if not answer then
    answer = answer_each(digests, act)
    if string.find(answer, '1', 1, true) then
      keep_answer(answer, now)
    end
  end
  return answer
end

-- Forget up to `limit` answers that nobody waits for any more.
local function forget_answers(limit, now)
  for _, caller in ipairs(redis.call('ZRANGE', ANSWERED, '-inf', now - KEEP_ANSWERS, 'BYSCORE', 'LIMIT', 0, limit)) do
    redis.call('HDEL', ANSWERS, caller)
    redis.call('ZREM', ANSWERED, caller)
  end
end
