#!lua flags=no-writes
-- Read the changing values of jobs of one queue.
-- include: shelf
-- Args: now, again, stamp...
-- Answer: per stamp its head; nothing for a job that is not there.
local heads = {}
for place = 3, #ARGV do
  heads[place - 2] = redis.call('HGET', HEAD, ARGV[place])
end
return heads
