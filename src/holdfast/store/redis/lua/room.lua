#!lua flags=no-writes
-- Tell a producer whether there is room in a queue.
-- include: bounds
-- Args: now, again.
-- Answer: 1 or 0.
return had_room and 1 or 0
