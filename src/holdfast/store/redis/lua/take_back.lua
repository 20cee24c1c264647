#!lua flags=allow-oom
-- Take from workers whose lease has ended what they hold in one queue: the second half of leave and rescue.
-- include: landing, bell
-- Args: now, again, bell, over, queue, workers as msgpack: worker, plan, outcome, reason, error, whether the house
-- has forgotten it, what that tells a breaker.
-- Answer: per worker the ids of the jobs that were taken; nothing for one that is forgotten and whose copy lives yet.
-- Guarantee: the lease is ended here for ever in the step that lands the jobs. Repeating it takes nothing twice.
local now, has_ended, answers = now_us(), false, {}
local before = next_claimable(now)
for place, one in ipairs(cmsgpack.unpack(ARGV[6])) do
  local worker, plan, outcome, reason, err, is_forgotten, told = unpack(one, 1, 7)
  local run = { plan = plan, took = 0, outcome = outcome, reason = reason, error = err, told = told, slows = 0 }
  local ends = redis.call('ZSCORE', LEASES, worker)
  answers[place] = false
  if not (is_forgotten and ends and tonumber(ends) >= now) then
    local ids, ended = end_lease(worker, run, now)
    answers[place] = ids
    has_ended = ended or has_ended
  end
end
close_step(now)
ring_if_sooner(before, now)
ring_for_watchers(has_ended)
return answers
