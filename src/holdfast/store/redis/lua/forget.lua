#!lua flags=allow-oom
-- Free the ids of jobs that are gone, each only while it still has the stamp that is gone.
-- include: house
-- Args: now, again, pairs of id and stamp as msgpack.
-- Guarantee: repeated any number of times, at any later time, it never frees an id that was given out anew.
for _, pair in ipairs(cmsgpack.unpack(ARGV[3])) do
  local place = redis.call('HGET', IDS, pair[1])
  if place and string.match(place, '^%d+') == pair[2] then
    redis.call('HDEL', IDS, pair[1])
  end
end
return 1
