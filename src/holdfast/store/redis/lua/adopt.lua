#!lua flags=allow-oom
-- Take up again the stamps of jobs that the house had lost, each only while its id has the stamp that was given since.
-- include: house
-- Args: now, again, triples of id, stamp that was given since, and stamp that stands, space, queue, as msgpack.
for _, one in ipairs(cmsgpack.unpack(ARGV[3])) do
  local place = redis.call('HGET', IDS, one[1])
  if place and string.match(place, '^%d+') == one[2] then
    redis.call('HSET', IDS, one[1], one[3])
  end
end
return 1
