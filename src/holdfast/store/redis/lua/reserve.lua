#!lua
-- Give each id of a batch a stamp and a queue, unless it has them: the first half of a push.
-- include: house
-- Args: now, again, pairs of id and queue as msgpack.
-- Answer: per pair its stamp and the queue that holds the id, behind a '+' if the stamp is new.
-- Guarantee: an id has one stamp and one queue until it is forgotten. A caller that dies before the second half leaves
-- a stamp that stands for nothing; the next push of the id takes it up.
local answers, seen = {}, {}
local now, last = server_us(), tonumber(redis.call('GET', STAMP) or 0)
for _, pair in ipairs(cmsgpack.unpack(ARGV[3])) do
  local id, queue = pair[1], pair[2]
  local place = redis.call('HGET', IDS, id)
  if not place then
    last = math.max(last + 1, now)
    place = digits(last) .. ' ' .. queue
    redis.call('HSET', IDS, id, place)
    place = '+' .. place
  end
  if not seen[queue] then
    seen[queue] = true
    redis.call('SADD', QUEUES, queue)
  end
  answers[#answers + 1] = place
end
redis.call('SET', STAMP, digits(last))
return answers
