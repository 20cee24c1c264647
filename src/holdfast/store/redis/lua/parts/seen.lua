-- Which keys were seen in one queue. `policy.seen` explains; the arithmetic of `place` is written here once more.
-- include: shelf
--
-- An exact set is in `seen` (for ever) and `seen_until` (for a time): a key that is past its term counts for nothing until
-- upkeep drops it. An approximate one is in `filter` alone.
--
-- The functions are made when they are first asked for, so that a step without marks pays nothing for them.

local seen
do
  local book

  local function make()
    book = {}
    local SEEN, SEEN_UNTIL, FILTER = unpack(KEYS, 33, 35)
    -- Fields of a head: the digest to be forgotten if the job fails, and for how long it counts as seen (false: for ever).
    local DIGEST, SEEN_FOR = 30, 31
    local BLOCK_BITS = 32768
    local shape -- that of an approximate set; false: it is exact; nil: it was not asked for yet

    -- Give blocks and hashes of an approximate set; false if it is exact.
    function book.shape()
      if shape == nil then
        local packed = redis.call('HGET', META, 'sketch')
        local _, _, blocks, hashes = unpack(packed and cmsgpack.unpack(packed) or {})
        shape = packed and { blocks = blocks, hashes = hashes }
      end
      return shape
    end

    -- Give what BITFIELD is to do with the bits that stand for a key.
    local function on_bits(digest, act, value)
      local high, low, first, second, third = struct.unpack('>I2I4I2I2I2', digest)
      local start, words = (high * 2 ^ 32 + low) % shape.blocks * BLOCK_BITS, {}
      for step = 0, shape.hashes - 1 do
        words[#words + 1] = act
        words[#words + 1] = 'u1'
        words[#words + 1] = start + (first + step * (second + step * third)) % BLOCK_BITS
        words[#words + 1] = value
      end
      return words
    end

    local function has_bits(digest)
      for _, bit in ipairs(redis.call('BITFIELD_RO', FILTER, unpack(on_bits(digest, 'GET')))) do
        if bit == 0 then
          return false
        end
      end
      return true
    end

    function book.has(digest, now)
      if book.shape() then
        return has_bits(digest)
      end
      if redis.call('SISMEMBER', SEEN, digest) == 1 then
        return true
      end
      local ends = redis.call('ZSCORE', SEEN_UNTIL, digest)
      return ends and tonumber(ends) > now
    end

    -- Mark a key. Give whether it is new. One that is there keeps its term.
    function book.add(digest, ttl, now)
      if book.has(digest, now) then
        return false
      end
      if book.shape() then
        redis.call('BITFIELD', FILTER, unpack(on_bits(digest, 'SET', 1)))
        redis.call('HINCRBY', META, 'taken', 1)
      elseif ttl then
        redis.call('ZADD', SEEN_UNTIL, now + ttl, digest)
      else
        redis.call('ZREM', SEEN_UNTIL, digest) -- where it may be, past its term
        redis.call('SADD', SEEN, digest)
      end
      return true
    end

    -- Forget a key. Give whether it was there. An approximate set has nothing where this looks.
    function book.discard(digest, now)
      local ends = redis.call('ZSCORE', SEEN_UNTIL, digest)
      if ends then
        redis.call('ZREM', SEEN_UNTIL, digest)
        return tonumber(ends) > now
      end
      return redis.call('SREM', SEEN, digest) == 1
    end

    -- Have the job of this head forget its key if it fails.
    function book.note_in(head, digest, ttl)
      head[DIGEST], head[SEEN_FOR] = digest, ttl or false
    end

    -- Forget the key of a job that has ended without success, if it was asked for; a success is marked again.
    function book.close(head)
      if not head[DIGEST] then
        return
      end
      if head[STATE] == 'succeeded' then
        book.add(head[DIGEST], head[SEEN_FOR], head[FINISHED])
      else
        book.discard(head[DIGEST], head[FINISHED])
      end
    end

    -- Drop up to `limit` keys that are past their term.
    function book.forget_old(limit, now)
      local old = redis.call('ZRANGE', SEEN_UNTIL, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
      if #old > 0 then
        redis.call('ZREM', SEEN_UNTIL, unpack(old))
      end
    end

    -- Make room for the bits of an approximate set, up to this length. No bit is changed. Give how long it is.
    function book.widen(length)
      local there = redis.call('STRLEN', FILTER)
      local wanted = book.shape() and math.min(length, shape.blocks * BLOCK_BITS / 8) or 0
      if there < wanted then
        redis.call('SETBIT', FILTER, digits(wanted * 8 - 1), 0)
        there = wanted
      end
      return there
    end

    -- Give an exact and empty set a shape. Give the one it has now, if any.
    function book.take_on(sketch)
      local known = redis.call('HGET', META, 'sketch')
      if not known and redis.call('EXISTS', SEEN, SEEN_UNTIL) == 0 then
        redis.call('HSET', META, 'sketch', sketch)
        known = sketch
      end
      return known
    end

    -- Count the keys, but for those past their term.
    function book.count(now)
      local taken = redis.call('HGET', META, 'taken') or 0
      return redis.call('SCARD', SEEN) + redis.call('ZCOUNT', SEEN_UNTIL, '(' .. digits(now), '+inf') + taken
    end

    -- Forget all, also the shape. Give how many keys that were.
    function book.clear()
      local number = book.count(-1)
      redis.call('UNLINK', SEEN, SEEN_UNTIL, FILTER)
      redis.call('HDEL', META, 'sketch', 'taken')
      return number
    end
  end

  -- Give what can be done to the set.
  function seen()
    if not book then
      make()
    end
    return book
  end
end
