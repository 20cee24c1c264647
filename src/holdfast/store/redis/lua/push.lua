#!lua
-- Store the jobs of one queue that have their stamps: the second half of a push.
-- include: moment, flow, shelf, round, moves, recent, bell
-- Args: now, again, bell, over, queue, jobs as msgpack: stamp, id, task, priority, delay, at, expires, crash budget,
-- keep_done, keep_dead, result_ttl, tags, body, whether the stamp was made for this push, lane; '1' if the house may
-- be on another node.
-- Answer: per job 1 (created), 0 (it is there), -1 (its stamp is of a job that is gone, or of another: reserve anew),
-- or the stamp under which it is there: the house had lost it, and is to be told.
-- Guarantee: a stamp is stored once, however often it is sent. Refused as a whole when the server is out of memory.
-- Sent again after a lost answer, a job with a stamp of its own that is there was stored by the earlier call:
-- created. A house on another node may have lost its last writes when a replica took over. Then it gives an id whose
-- job is here a second stamp. The ids that came recently are kept here, so that such a job is found and not stored
-- twice.
local now, answers = now_us(), {}
local before = next_claimable(now)
local is_apart = ARGV[7] == '1'

-- Give the stamp under which a job of this id is here, if it came recently.
local function known_as(id)
  local stamp = is_apart and redis.call('ZSCORE', RECENT, id)
  local head = stamp and load(digits(stamp))
  return head and head[ID] == id and digits(stamp)
end

if not queue.order then
  redis.call('HSET', META, 'order', 'fifo')
end
for place, job in ipairs(cmsgpack.unpack(ARGV[6])) do
  local stamp, id, task, priority, delay, at, expires = unpack(job, 1, 7)
  local budget, keep_done, keep_dead, ttl, tags, body, is_fresh, lane = unpack(job, 8, 15)
  local there, other = load(stamp), known_as(id)
  if there then
    answers[place] = there[ID] ~= id and -1 or is_fresh and is_again() and 1 or 0
  elseif other then
    answers[place] = other
  elseif redis.call('ZSCORE', GONE, bytes_of(stamp) .. id) then
    answers[place] = -1
  else
    local due = math.max(now, at or now + delay)
    redis.call('HSET', BODY, stamp, body)
    if is_apart then
      redis.call('ZADD', RECENT, stamp, id)
    end
    if lane then
      begin_to_flow()
    end
    for _, tag in ipairs(tags or {}) do
      redis.call('ZADD', TAGS, 0, tag .. '\0' .. bytes_of(stamp))
    end
    lay(stamp, {
      id, task, false, priority, due, now, expires or false, 1, 0, 0, 0, budget, keep_done, keep_dead, ttl,
      false, false, false, false, false, false, false, tags or false, 0, lane,
    }, due > now and 'scheduled' or 'ready')
    answers[place] = 1
  end
end
if is_apart then
  forget_recent(1000)
end
close_round(now)
ring_if_sooner(before, now)
return answers
