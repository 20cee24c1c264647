#!lua flags=allow-oom
-- Take from workers whose lease has ended what they hold in one queue: the second half of leave and rescue.
-- include: moment, shelf, bell, landing
-- Args: now, again, bell, over, queue, workers as msgpack: worker, plan, outcome, reason, error, whether the house
-- has forgotten it.
-- Answer: per worker the ids of the jobs that were taken; nothing for one that is forgotten and whose copy lives yet.
-- Guarantee: the lease is ended here for ever in the step that lands the jobs. Repeating it takes nothing twice.
local now, before, has_ended, answers = now_us(), next_claimable(), false, {}
for place, one in ipairs(cmsgpack.unpack(ARGV[6])) do
  local worker, plan, outcome, reason, err, is_forgotten = unpack(one, 1, 6)
  local run = { plan = plan, took = 0, outcome = outcome, reason = reason, error = err }
  local ends = redis.call('ZSCORE', LEASES, worker)
  answers[place] = false
  if not (is_forgotten and ends and tonumber(ends) >= now) then
    local ids, ended = end_lease(worker, run, now)
    answers[place] = ids
    has_ended = ended or has_ended
  end
end
ring_if_sooner(before)
ring_for_watchers(has_ended)
return answers
