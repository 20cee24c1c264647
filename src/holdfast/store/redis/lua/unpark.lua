#!lua flags=allow-oom
-- Make parked jobs of one queue ready, at the place they had.
-- include: bell
-- Args: now, again, bell, over, queue, stamp, id and seal (or nil: leave it) as msgpack.
-- Answer: per job 1 if it took effect, else 0.
local now, answers = now_us(), {}
local before = next_claimable(now)

local function reseal(stamp, seal)
  local body = redis.call('HGET', BODY, stamp)
  local length = math.max(struct.unpack('>I2', body) - 1, 0)
  redis.call('HSET', BODY, stamp, struct.pack('>I2', #seal + 1) .. seal .. string.sub(body, 3 + length))
end

for place, one in ipairs(cmsgpack.unpack(ARGV[6])) do
  local stamp, id, seal = unpack(one, 1, 3)
  local head = load(stamp)
  answers[place] = 0
  if head and head[ID] == id and head[STATE] == 'parked' then
    if seal then
      reseal(stamp, seal)
    end
    lift(stamp, head)
    redis.call('HDEL', STORY, stamp)
    lay(stamp, head, 'ready')
    answers[place] = 1
  end
end
close_step(now)
ring_if_sooner(before, now)
return answers
