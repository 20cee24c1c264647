-- The ids that came within the last ten minutes, on a cluster: see `push.lua`.
-- include: shelf

-- Let go of up to `limit` ids that came so long ago that no house can have lost them unnoticed.
local function forget_recent(limit)
  local before = digits(server_us() - 600 * SECOND)
  local old = redis.call('ZRANGE', RECENT, '-inf', before, 'BYSCORE', 'LIMIT', 0, limit)
  if #old > 0 then
    redis.call('ZREM', RECENT, unpack(old))
  end
end
