#!lua flags=allow-oom
-- Delete jobs of one queue that are not running, with their history.
-- include: bell
-- Args: now, again, bell, over, queue, pairs of stamp and id as msgpack.
-- Answer: per pair 1 if it took effect, else 0. The house is then to forget those ids.
local now, has_gone, answers = now_us(), false, {}
for place, pair in ipairs(cmsgpack.unpack(ARGV[6])) do
  local head = load(pair[1])
  answers[place] = 0
  if head and head[ID] == pair[2] and head[STATE] ~= 'running' then
    drop(pair[1], head, now)
    has_gone = true
    answers[place] = 1
  end
end
close_step(now)
ring_if_entered()
ring_for_watchers(has_gone)
return answers
