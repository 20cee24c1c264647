#!lua flags=allow-oom
-- Make sure that stamps which stand for nothing here never will.
-- include: shelf
-- Args: now, again, pairs of stamp and id as msgpack.
-- Answer: per pair 1 if the job is here, else 0: its stamp is marked as gone.
-- Guarantee: a push that was under way with that stamp is refused from now on, so the id can be given to another queue.
local now, answers = now_us(), {}
for place, pair in ipairs(cmsgpack.unpack(ARGV[3])) do
  local head = load(pair[1])
  local is_here = head and head[ID] == pair[2]
  if not is_here then
    redis.call('ZADD', GONE, now, bytes_of(pair[1]) .. pair[2])
  end
  answers[place] = is_here and 1 or 0
end
return answers
