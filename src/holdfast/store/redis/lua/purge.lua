#!lua flags=allow-oom
-- Delete up to a slice of one queue's jobs that are neither running nor final, with their history.
-- include: bell
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

-- Those that wait first: else they would move on when the job that they wait for goes.
for _, key in ipairs({ WAITING, READY, LANED, LATER, PARKED, SPILLED }) do
  if #marks < slice then
    purge(redis.call('ZRANGE', key, 0, slice - #marks - 1))
  end
end
close_step(now)
ring_if_entered()
ring_for_watchers(#marks > 0)
return marks
