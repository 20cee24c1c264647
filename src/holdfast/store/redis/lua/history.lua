#!lua flags=no-writes
-- Read the finished runs that are kept of one job, oldest first.
-- include: shelf
-- Args: now, again, stamp.
local runs, head = {}, load(ARGV[3])
if not head then
  return runs
end
for number = first_run(head), head[RUN_COUNT] do
  runs[#runs + 1] = redis.call('HGET', RUNS, ARGV[3] .. ':' .. number)
end
return runs
