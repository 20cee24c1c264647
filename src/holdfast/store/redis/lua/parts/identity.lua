-- Who has which key of one queue: the job that holds it, the successor that waits for it, and the last success.
-- include: shelf
--
-- An entry of `holders` is an array: stamp of the holder, stamp of the successor, last success (id, when, until when it is
-- remembered, version). A key is let go in the step in which its holder ends or goes; the successor then holds it.

local HOLDER, SUCCESSOR, SUCCESS = 1, 2, 3

local function entry_of(key)
  local packed = redis.call('HGET', HOLDERS, key)
  return packed and cmsgpack.unpack(packed) or { false, false, false }
end

local function save_entry(key, entry)
  if entry[HOLDER] or entry[SUCCESSOR] or entry[SUCCESS] then
    redis.call('HSET', HOLDERS, key, cmsgpack.pack(entry))
  else
    redis.call('HDEL', HOLDERS, key)
  end
end

-- Give a job the key it asks for: as its holder, or, if it waits, as the successor.
local function hold(stamp, head, state)
  if head[KEY] then
    local entry = entry_of(head[KEY])
    entry[state == 'waiting' and SUCCESSOR or HOLDER] = stamp
    save_entry(head[KEY], entry)
  end
end

-- Take the key from a job that has ended or goes. Give the stamp of the successor, which holds it now, if there is one.
local function let_go(stamp, head)
  if not head[KEY] then
    return nil
  end
  local entry, heir = entry_of(head[KEY]), nil
  if entry[SUCCESSOR] == stamp then
    entry[SUCCESSOR] = false
  elseif entry[HOLDER] == stamp then
    heir = entry[SUCCESSOR]
    entry[HOLDER], entry[SUCCESSOR] = heir, false
  end
  save_entry(head[KEY], entry)
  return heir or nil
end

-- Remember the success of a job.
local function succeed(head, now)
  if head[KEY] then
    local entry, ends = entry_of(head[KEY]), now + head[REMEMBERED]
    entry[SUCCESS] = { head[ID], now, ends, head[VERSION] }
    save_entry(head[KEY], entry)
    redis.call('ZADD', TERMS, ends, head[KEY])
  end
end

-- Forget up to `limit` successes that are past their term.
local function forget_successes(limit, now)
  for _, key in ipairs(redis.call('ZRANGE', TERMS, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)) do
    local entry = entry_of(key)
    entry[SUCCESS] = false
    save_entry(key, entry)
    redis.call('ZREM', TERMS, key)
  end
end
