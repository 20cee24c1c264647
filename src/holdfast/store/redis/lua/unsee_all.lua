#!lua flags=allow-oom
-- Forget all keys that were seen in one queue, and the shape of the set: it is exact again.
-- include: answers
-- Args: now, again, caller, number of the call.
-- Answer: how many keys there were, as text.
-- Sent again after a lost answer, it gives that answer.
-- Cost: the server frees the sets in the background. A filter it frees at once: about 0.1 s for the largest.
local former = former_answer()
if former then
  return former
end
local number = digits(seen().clear())
if number ~= '0' then
  keep_answer(number, now_us())
end
return number
