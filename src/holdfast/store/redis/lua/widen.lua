#!lua
-- Make room for the bits of an approximate seen-set, up to this length: a step of some megabytes at a time, for the server
-- does nothing else meanwhile.
-- include: seen
-- Args: now, again, length.
-- Answer: how long it is.
-- Guarantee: no bit is changed. Whoever sets one that has no room yet makes it as well, however long that takes.
return seen().widen(tonumber(ARGV[3]))
