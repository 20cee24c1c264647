#!lua flags=no-writes
-- Tell of keys whether they were seen in one queue.
-- include: answers
-- Args: now, again, digests one behind the other.
-- Answer: a text, '1' for each digest that was seen, else '0'.
local now = now_us()
return answer_each(ARGV[3], function(digest)
  return seen().has(digest, now)
end)
