#!lua flags=allow-oom
-- Open the next generation of failed, cancelled or expired jobs of one queue: fresh budgets, ready now.
-- include: bell
-- Args: now, again, bell, over, queue, pairs of stamp and id as msgpack.
-- Answer: per pair 1 if it took effect, else 0.
-- Guarantee: deliveries go on counting, so no token is ever made twice.
local now, answers = now_us(), {}
local before = next_claimable(now)
-- Tell whether the job has failed or was given up, and nobody else has its key.
local function is_retriable(head)
  local is_over = FINAL[head[STATE]] and head[STATE] ~= 'succeeded'
  return is_over and not (head[KEY] and entry_of(head[KEY])[HOLDER])
end

for place, pair in ipairs(cmsgpack.unpack(ARGV[6])) do
  local stamp = pair[1]
  local head = load(stamp)
  answers[place] = 0
  if head and head[ID] == pair[2] and is_retriable(head) then
    lift(stamp, head)
    head[GENERATION], head[DUE], head[FAILURES], head[CRASHES] = head[GENERATION] + 1, now, 0, 0
    head[CANCEL_ASKED], head[EXPIRES], head[FINISHED], head[KEEP_UNTIL] = false, false, false, false
    head[RESULT_UNTIL] = false
    for _, key in ipairs({ STORY, RESULTS, NOTES }) do
      redis.call('HDEL', key, stamp)
    end
    lay(stamp, head, 'ready')
    hold(stamp, head, 'ready')
    answers[place] = 1
  end
end
close_step(now)
ring_if_sooner(before, now)
return answers
