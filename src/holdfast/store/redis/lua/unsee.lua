#!lua flags=allow-oom
-- Forget keys that were seen in one queue.
-- include: answers
-- Args: now, again, caller, number of the call, digests one behind the other.
-- Answer: a text, '1' for each digest that was there, else '0'.
-- Sent again after a lost answer, it gives that answer.
local now = now_us()
return change_each(ARGV[5], function(digest)
  return seen().discard(digest, now)
end, now)
