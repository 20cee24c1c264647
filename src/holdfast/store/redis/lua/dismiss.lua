#!lua flags=allow-oom
-- Note that workers are to stop; each learns of it with its next beat.
-- include: house
-- Args: now, again, worker...
-- Answer: those that hold a live lease.
local now, live = now_us(), {}
for place = 3, #ARGV do
  if is_live(ARGV[place], now) then
    redis.call('SADD', LEAVING, ARGV[place])
    live[#live + 1] = ARGV[place]
  end
end
return live
