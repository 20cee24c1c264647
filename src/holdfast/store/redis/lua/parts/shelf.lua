-- One queue's jobs. A job is known here by its stamp, the number the house gave its id (see house.lua), and is in
-- the one index that its state calls for.
-- include: moment
--
-- Keys, all of one queue; every queue script is given all of them, in this order:
--   meta      hash    order (fifo or lifo): the queue has come into being when this is there. paused (1).
--                     declared, overlay: what program and operator have set, as `policy.overlay` packs it, and
--                     revision: how often. What follows from both: flowing (1), policy, sweep. And flow: what the
--                     queue's own limits remember: see round.lua. bounds: see bounds.lua. refused: how many pushes were.
--                     sketch, taken: the shape of the seen-set and how many keys it took for new, if it is approximate
--   head      hash    stamp -> the job's changing values, msgpack; the fields are listed below
--   body      hash    stamp -> two bytes (length of the seal + 1, or 0: no seal), the seal, the envelope
--   ready     zset    -priority; due and stamp as big-endian bytes, so that equals stand in order of due, then
--                     stamp. The ready jobs without a lane
--   later     zset    due; stamp as bytes. The scheduled jobs
--   running   zset    0; worker, NUL, stamp as bytes
--   parked    zset    0; 't' and the task (parked for an unknown task) or 'x' (for another reason), NUL, stamp as bytes
--   expiring  zset    expires; stamp as bytes. Beside ready, laned, later, parked, waiting and spilled
--   kept      zset    keep_until; stamp as bytes. The final jobs
--   counts    hash    final state -> number of jobs in it
--   story     hash    stamp -> reason, error, traceback of the last run, msgpack
--   results   hash    stamp -> result
--   notes     hash    stamp -> progress, msgpack
--   runs      hash    stamp:n -> the n-th finished run, msgpack; the last ten of each job
--   tags      zset    0; tag, NUL, stamp as bytes
--   asked     zset    0; worker, NUL, token of a running job that someone cancelled
--   gone      zset    moment; stamp as bytes, id: a job that was dropped, until the house has forgotten it
--   leases    zset    when the lease ends; worker. Copies of the house's leases, of workers that claimed here
--   tasks     hash    worker -> the tasks it knows, msgpack
--   ended     zset    when; worker. Workers whose lease was ended here, for ever
--   recent    zset    stamp; id. On a cluster, the jobs that came within the last ten minutes: see `push.lua`
--   laned     zset    0; lane, NUL, priority (turned around, 5 bytes), due and stamp as bytes, so that the jobs of a
--                     lane stand together, the best first. The ready jobs with a lane
--   since     zset    due; stamp as bytes. The same jobs, so that the one due longest is found
--   lanes     hash    lane -> what its limits remember, and how many of its jobs run, msgpack: see flow.lua
--   open      zset    turn; lane. Lanes that have a ready job and may start it; 0: it has yet to join the round
--   timed     zset    moment; lane. Lanes that have a ready job and may start it then
--   idle      zset    moment; lane. Lanes that held no job when last seen, and when to see whether to forget them
--   weights   hash    lane -> its share, where that is not 1
--   holders   hash    key -> the jobs that have it, and the last success under it, msgpack: see identity.lua
--   terms     zset    until when a success is remembered; key
--   waiting   zset    0; stamp as bytes. Jobs that wait for the one that has their key
--   spilled   zset    -priority; stamp as bytes. Jobs that wait for room
--   seen      set     digests of keys that were seen, for ever: see seen.lua
--   seen_until  zset  until when a key counts as seen; digest
--   filter    string  the bits of an approximate seen-set, block behind block
--   answers   hash    caller -> what the last call that changed the seen-set answered: see answers.lua
--   answered  zset    when; caller

-- The last five have their names in seen.lua and answers.lua: a script may have no more than 200 names at a time.
local META, HEAD, BODY, READY, LATER, RUNNING, PARKED, EXPIRING, KEPT, COUNTS, STORY, RESULTS, NOTES, RUNS, TAGS,
  ASKED, GONE, LEASES, TASKS, ENDED, RECENT, LANED, SINCE, LANES, OPEN, TIMED, IDLE, WEIGHTS,
  HOLDERS, TERMS, WAITING, SPILLED = unpack(KEYS)

-- The fields of a head. What is not set is false: a hole would not survive msgpack. The head of a plain job ends before
-- LANE. REMEMBERED is how long its success is, OWN_EXPIRES what EXPIRES will be when a spilled job gets in.
-- Behind that come DIGEST and SEEN_FOR (see seen.lua) if the key is to be new again should the job fail.
local ID, TASK, STATE, PRIORITY, DUE, CREATED, EXPIRES, GENERATION, DELIVERIES, FAILURES, CRASHES, BUDGET,
  KEEP_DONE, KEEP_DEAD, RESULT_TTL, CANCEL_ASKED, WORKER, TOKEN, CLAIMED, FINISHED, KEEP_UNTIL, RESULT_UNTIL,
  TAGGED, RUN_COUNT, LANE, KEY, VERSION, REMEMBERED, OWN_EXPIRES = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29

local SECOND, KEEP_RUNS, STAMP_BYTES = 1000000, 10, 7
local FINAL = { succeeded = true, failed = true, cancelled = true, expired = true }

local function bytes_of(stamp)
  return struct.pack('>I7', stamp)
end

local function stamp_in(bytes, place)
  return digits((struct.unpack('>I7', bytes, place)))
end

-- Give the stamp of a member that ends with it.
local function stamp_at_end(member)
  return stamp_in(member, #member - STAMP_BYTES + 1)
end

local function load(stamp)
  local packed = redis.call('HGET', HEAD, stamp)
  return packed and cmsgpack.unpack(packed)
end

local function save(stamp, head)
  redis.call('HSET', HEAD, stamp, cmsgpack.pack(head))
end

-- Tell the number of the oldest run that is kept.
local function first_run(head)
  return math.max(1, head[RUN_COUNT] - KEEP_RUNS + 1)
end

-- Give the members of a zset of equal scores that begin with `name` and NUL.
local function under(key, name, limit)
  return redis.call('ZRANGE', key, '[' .. name .. '\0', '(' .. name .. '\1', 'BYLEX', 'LIMIT', 0, limit or -1)
end
