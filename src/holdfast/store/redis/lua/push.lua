#!lua
-- Store the jobs of one queue that have their stamps: the second half of a push.
-- include: recent, admission, bell
-- Args: now, again, bell, over, queue, jobs as msgpack: stamp, id, task, priority, delay, at, expires, crash budget,
-- keep_done, keep_dead, result_ttl, tags, body, whether the stamp was made for this push, lane, identity (nil: it has
-- no key), mark (nil: it does not matter whether its key was seen); '1' if the house may be on another node. An identity is key, version, how long a success is remembered, and
-- what `policy.identity` rules: on a job that waits, on one that runs (of the same version, of another), whether that
-- is asked to stop, and for how long a success makes the push needless (of the same version, of another). A mark is
-- digest, for how long the key counts as seen (nil: for ever), whether it is new again if the job fails, whether the push
-- passes by the seen-set.
-- Answer: per job 1 (created), 0 (it is there), -1 (its stamp is of a job that is gone, or of another: reserve anew),
-- -2 (refused: no room), -3 (its key was seen); 'spilled' and the bound; 'known' and what was known of its key, as msgpack, which decides what
-- became of it; or, as text, the stamp under which it is there: the house had lost it, and is to be told.
-- Guarantee: a stamp is stored once, however often it is sent. Identity, seen-set, room and the job are one step. Refused as a
-- whole when the server is out of memory.
-- Sent again after a lost answer, a job with a stamp of its own that is there was stored by the earlier call: created.
-- A stamp that was not stored is marked as gone, so that nobody takes it up while the house is told to forget it.
-- A house on another node may have lost its last writes when a replica took over. Then it gives an id whose job is here
-- a second stamp. The ids that came recently are kept here, so that such a job is found and not stored twice.
local now, has_ended, answers, unstored = now_us(), false, {}, {}
local before = next_claimable(now)
local is_apart = ARGV[7] == '1'

-- Give the stamp under which a job of this id is here, if it came recently.
local function known_as(id)
  local stamp = is_apart and redis.call('ZSCORE', RECENT, id)
  local head = stamp and load(digits(stamp))
  return head and head[ID] == id and digits(stamp)
end

local function read(row)
  local job = {}
  job.stamp, job.id, job.task, job.priority, job.delay, job.at, job.expires = unpack(row, 1, 7)
  job.budget, job.keep_done, job.keep_dead, job.ttl, job.tags, job.body, job.is_fresh, job.lane = unpack(row, 8, 15)
  if row[16] then
    job.key, job.version, job.remembered, job.on_waiting, job.on_running_same, job.on_running_other, job.asks,
      job.fresh_after_same, job.fresh_after_other = unpack(row[16], 1, 9)
  end
  if row[17] then
    job.digest, job.seen_for, job.forgets_failure, job.is_forced = unpack(row[17], 1, 4)
  end
  job.due = math.max(now, job.at or now + job.delay)
  return job
end

-- Fill up a head, so that what comes behind leaves no hole.
local function fill(head, last)
  for field = LANE, last do
    head[field] = head[field] or false
  end
end

local function new_head(job)
  local head = {
    job.id, job.task, false, job.priority, job.due, now, job.expires or false, 1, 0, 0, 0, job.budget,
    job.keep_done, job.keep_dead, job.ttl, false, false, false, false, false, false, false, job.tags or false, 0,
  }
  if job.lane or job.key then
    head[LANE] = job.lane or false
  end
  if job.key then
    head[KEY], head[VERSION], head[REMEMBERED] = job.key, job.version or false, job.remembered
  end
  if job.forgets_failure then
    fill(head, OWN_EXPIRES)
    seen().note_in(head, job.digest, job.seen_for)
  end
  return head
end

-- Have a job that is spilled expire when it has found no room for long enough.
local function give_term(head)
  fill(head, REMEMBERED)
  head[OWN_EXPIRES] = head[EXPIRES]
  head[EXPIRES] = math.min(now + queue.bounds[SPILL_TTL], head[EXPIRES] or math.huge)
end

-- Store a job, in this state or as its time says.
local function store(job, state)
  local stamp, head = job.stamp, new_head(job)
  if job.lane then
    begin_to_flow()
  end
  if state == 'spilled' then
    give_term(head)
  end
  state = state or job.due > now and 'scheduled' or 'ready'
  redis.call('HSET', BODY, stamp, job.body)
  for _, tag in ipairs(job.tags or {}) do
    redis.call('ZADD', TAGS, 0, tag .. '\0' .. bytes_of(stamp))
  end
  if is_apart then
    redis.call('ZADD', RECENT, stamp, job.id)
  end
  lay(stamp, head, state)
  hold(stamp, head, state)
  if job.digest then
    seen().add(job.digest, job.seen_for, now)
  end
end

local function turn_away(job, act)
  if queue.bounds[IS_SPILLING] and act == 'create' then
    store(job, 'spilled')
    return { 'spilled', queue.bounds[MOST_WAITING] }
  end
  redis.call('HINCRBY', META, 'refused', 1)
  unstored[job.stamp] = job.id
  return -2
end

-- Do to the job that has the key what is ruled. Give the state to store the new one in, if that is fixed.
local function make_way(act, stamp, head, known, job)
  if act == 'follow' then
    if job.asks then
      ask_to_stop(stamp, head)
    end
    return 'waiting'
  end
  if act == 'replace' then
    has_ended = true
    return clear(stamp, head, known, job.id, now)
  end
end

-- Store a job that is not here yet, unless its key, the seen-set or the queue's bound say otherwise.
local function admit(job)
  local act, answer, known, stamp, head = 'create', 1, nil, nil, nil
  if job.key then
    known = known_of(job.key)
    act, stamp, head = ruled(job, known, now)
    answer = act == 'create' and 1 or { 'known', told(known, now) }
  end
  if act == 'merge' or act == 'nothing' then
    unstored[job.stamp] = job.id
    if act == 'merge' then
      merge(stamp, head, job.priority, job.due)
    end
    return answer
  end
  if job.digest and not job.is_forced and seen().has(job.digest, now) then
    unstored[job.stamp] = job.id
    return -3
  end
  if not has_room(act == 'replace' and SIZED[head[STATE]] and 1 or 0) then
    return turn_away(job, act)
  end
  store(job, make_way(act, stamp, head, known, job))
  return answer
end

local function take_in(job)
  local there, other = load(job.stamp), known_as(job.id)
  if there then
    return there[ID] ~= job.id and -1 or job.is_fresh and is_again() and 1 or 0
  end
  if other then
    return other
  end
  if unstored[job.stamp] or redis.call('ZSCORE', GONE, bytes_of(job.stamp) .. job.id) then
    return -1
  end
  return admit(job)
end

-- In a function of its own: a script has room for 200 names.
local function take_in_batch()
  -- Tell whether a batch is of jobs that need nothing but to be there: no lane, key, mark or tag, in a queue without limits
  -- and bounds, with its house on the same node.
  local function is_plain(jobs)
    for _, job in ipairs(jobs) do
      if job.lane or job.key or job.digest or job.tags then
        return false
      end
    end
    return not (queue.flowing or queue.bounds or is_apart)
  end

  -- Write pairs to a key by one command, if there are any.
  local function write(command, key, pairs_of_values)
    if #pairs_of_values > 0 then
      redis.call(command, key, unpack(pairs_of_values))
    end
  end

  -- Take in a plain batch: what `take_in` and `store` do for each job, by one command for all of them.
  local function take_in_all(jobs)
    local stamps, marks, met = {}, {}, {}
    for place, job in ipairs(jobs) do
      stamps[place], marks[place] = job.stamp, bytes_of(job.stamp) .. job.id
    end
    local heads, gone = redis.call('HMGET', HEAD, unpack(stamps)), redis.call('ZMSCORE', GONE, unpack(marks))
    local new, bodies, ready, later, expiring = {}, {}, {}, {}, {}
    for place, job in ipairs(jobs) do
      local stamp, there = job.stamp, met[job.stamp] or heads[place] and cmsgpack.unpack(heads[place])
      if there then
        answers[place] = there[ID] ~= job.id and -1 or job.is_fresh and is_again() and 1 or 0
      elseif gone[place] then
        answers[place] = -1
      else
        local head = new_head(job)
        if job.due > now then
          head[STATE] = 'scheduled'
          later[#later + 1], later[#later + 2] = job.due, bytes_of(stamp)
        else
          head[STATE] = 'ready'
          ready[#ready + 1], ready[#ready + 2] = -job.priority, rank(stamp, head)
        end
        if job.expires then
          expiring[#expiring + 1], expiring[#expiring + 2] = job.expires, bytes_of(stamp)
        end
        bodies[#bodies + 1], bodies[#bodies + 2] = stamp, job.body
        new[#new + 1], new[#new + 2] = stamp, cmsgpack.pack(head)
        met[stamp], answers[place] = head, 1
      end
    end
    write('HSET', BODY, bodies)
    write('ZADD', READY, ready)
    write('ZADD', LATER, later)
    write('ZADD', EXPIRING, expiring)
    write('HSET', HEAD, new)
  end

  local jobs = cmsgpack.unpack(ARGV[6])
  for place, row in ipairs(jobs) do
    jobs[place] = read(row)
  end
  if is_plain(jobs) then
    return take_in_all(jobs)
  end
  for place, job in ipairs(jobs) do
    answers[place] = take_in(job)
  end
end

if not queue.order then
  redis.call('HSET', META, 'order', 'fifo')
end
take_in_batch()
for stamp, id in pairs(unstored) do
  redis.call('ZADD', GONE, now, bytes_of(stamp) .. id)
end
if is_apart then
  forget_recent(1000)
end
close_step(now)
ring_if_sooner(before, now)
ring_for_watchers(has_ended)
return answers
