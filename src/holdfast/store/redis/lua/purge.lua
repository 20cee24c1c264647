#!lua flags=allow-oom
-- Delete up to a slice of one queue's jobs that are neither running nor final, with their history.
-- include: moment, flow, shelf, round, moves, bell
-- Args: now, again, bell, over, queue, slice.
-- Answer: stamp (as bytes) and id of each. The house is then to forget those ids.
local now, slice, marks = now_us(), tonumber(ARGV[6]), {}

local function purge(members)
  for _, member in ipairs(members) do
    local stamp = stamp_at_end(member)
    local head = load(stamp)
    drop(stamp, head, now)
    marks[#marks + 1] = bytes_of(stamp) .. head[ID]
  end
end

for _, key in ipairs({ READY, LANED, LATER, PARKED }) do
  if #marks < slice then
    purge(redis.call('ZRANGE', key, 0, slice - #marks - 1))
  end
end
close_round(now)
ring_for_watchers(#marks > 0)
return marks
