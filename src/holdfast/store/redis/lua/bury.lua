#!lua flags=allow-oom
-- End, for ever, the lease of one worker that leaves or of all that fell silent: the first half of leave and rescue.
-- include: house
-- Args: now, again, worker or '' for the silent.
-- Answer: whose leases were ended, and all queues.
-- Guarantee: from here on nobody takes them for alive. What they hold is taken back queue by queue; if the caller dies
-- before that, any later rescue finds their copies on the queues.
local now = now_us()
local over = { ARGV[3] }
if ARGV[3] == '' then
  over = redis.call('ZRANGE', LEASES, '-inf', '(' .. digits(now), 'BYSCORE')
end
for _, worker in ipairs(over) do
  end_lease(worker, now)
end
return { over, redis.call('SMEMBERS', QUEUES) }
