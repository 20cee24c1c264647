#!lua flags=allow-oom
-- Bring a queue's copy of a worker's lease up to date: the second half of a beat.
-- include: shelf
-- Args: now, again, worker, how long its lease lives yet.
-- Answer: the tokens of its running jobs that someone cancelled.
local worker, tokens = ARGV[3], {}
redis.call('ZADD', LEASES, 'XX', 'GT', digits(now_us() + ARGV[4]), worker)
for _, member in ipairs(under(ASKED, worker)) do
  tokens[#tokens + 1] = string.sub(member, #worker + 2)
end
return tokens
