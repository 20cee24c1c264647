#!lua flags=no-writes
-- Read whole records of one queue.
-- include: shelf
-- Args: now, again, stamp...
-- Answer: now; per stamp head, body, story, result, progress; nothing for a job that is not there.
local records = {}
for place = 3, #ARGV do
  local stamp = ARGV[place]
  local head = redis.call('HGET', HEAD, stamp)
  records[place - 2] = head and {
    head, redis.call('HGET', BODY, stamp), redis.call('HGET', STORY, stamp), redis.call('HGET', RESULTS, stamp),
    redis.call('HGET', NOTES, stamp),
  } or {}
end
return { digits(now_us()), records }
