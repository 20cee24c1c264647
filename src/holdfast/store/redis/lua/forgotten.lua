#!lua flags=allow-oom
-- Take away the marks of dropped jobs that the house has forgotten long enough ago.
-- include: shelf
-- Args: now, again, marks...
for place = 3, #ARGV do
  redis.call('ZREM', GONE, ARGV[place])
end
return 1
