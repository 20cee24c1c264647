#!lua flags=allow-oom
-- Cancel jobs of one queue: at once where they have not started, by asking where they run.
-- include: bell
-- Args: now, again, bell, over, queue, pairs of stamp and id as msgpack.
-- Answer: per pair cancelled, asked, final or unknown.
local now, has_ended, answers = now_us(), false, {}

local function cancel(stamp, id)
  local head = load(stamp)
  if not head or head[ID] ~= id then
    return 'unknown'
  end
  if FINAL[head[STATE]] then
    return 'final'
  end
  if head[STATE] == 'running' then
    head[CANCEL_ASKED] = true
    redis.call('ZADD', ASKED, 0, head[WORKER] .. '\0' .. head[TOKEN])
    save(stamp, head)
    return 'asked'
  end
  give_reason(stamp, 'cancelled')
  lift(stamp, head)
  finish(head, 'cancelled', now)
  lay(stamp, head, 'cancelled')
  has_ended = true
  return 'cancelled'
end

for place, pair in ipairs(cmsgpack.unpack(ARGV[6])) do
  answers[place] = cancel(pair[1], pair[2])
end
close_step(now)
ring_if_entered()
ring_for_watchers(has_ended)
return answers
