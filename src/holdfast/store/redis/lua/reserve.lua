#!lua
-- Give each id of a batch a stamp and a queue, unless it has them: the first half of a push.
-- include: house
-- Args: now, again, pairs of id and queue as msgpack.
-- Answer: per pair its stamp and the queue that holds the id, behind a '+' if the stamp is new.
-- Guarantee: an id has one stamp and one queue until it is forgotten. A caller that dies before the second half leaves
-- a stamp that stands for nothing; the next push of the id takes it up.
local answers, seen, ids, new, met = {}, {}, {}, {}, {}
local now, last = server_us(), tonumber(redis.call('GET', STAMP) or 0)
local pairs_given = cmsgpack.unpack(ARGV[3])
for number, pair in ipairs(pairs_given) do
  ids[number] = pair[1]
end
local places = redis.call('HMGET', IDS, unpack(ids))
for number, pair in ipairs(pairs_given) do
  local id, queue = pair[1], pair[2]
  local place = places[number] or met[id]
  if not place then
    last = math.max(last + 1, now)
    place = digits(last) .. ' ' .. queue
    new[#new + 1], new[#new + 2], met[id] = id, place, place
    place = '+' .. place
  end
  if not seen[queue] then
    seen[queue] = true
    redis.call('SADD', QUEUES, queue)
  end
  answers[number] = place
end
if #new > 0 then
  redis.call('HSET', IDS, unpack(new))
end
redis.call('SET', STAMP, digits(last))
return answers
