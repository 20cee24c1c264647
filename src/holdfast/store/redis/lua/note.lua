#!lua flags=allow-oom
-- Record how far runs have come.
-- include: fence
-- Args: now, again, notes as msgpack: stamp, id, token, packed progress.
-- Answer: place and reason of each note that was refused.
local lost = {}
for place, note in ipairs(cmsgpack.unpack(ARGV[3])) do
  local stamp, id, token, progress = unpack(note)
  local head, why = held(stamp, id, token)
  if head then
    redis.call('HSET', NOTES, stamp, progress)
  else
    lost[#lost + 1] = place
    lost[#lost + 1] = why
  end
end
return lost
