#!lua flags=allow-oom
-- Note that a drain of one queue, and so each before it, has been acted on.
-- include: drains
-- Args: now, again, the number of the drain.
-- Answer: 1.
if queue.order then
  tell_of_drain(tonumber(ARGV[3]))
  close_round(now_us())
end
return 1
