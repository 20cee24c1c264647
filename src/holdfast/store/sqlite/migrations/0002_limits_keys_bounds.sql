-- Lanes and limits, keys, bounds, seen-sets.
--
-- `ns_lane` is written by claims and by people's acts only. What else may change how a lane stands leaves a row in
-- `ns_news`. See `store/flowing`.

alter table ns_queue add column declared text;                         -- JSON; null: a plain policy
alter table ns_queue add column overlay text;                          -- JSON; null: none
alter table ns_queue add column is_flowing integer not null default 0; -- never taken back
alter table ns_queue add column flow text;                             -- JSON; null: nothing to remember
alter table ns_queue add column opens_us integer default 0;            -- from when it may start jobs; null: an event decides
alter table ns_queue add column max_size integer;                      -- the bound in force; null: none
alter table ns_queue add column size integer;                          -- jobs yet to start; kept if and only if there is a bound
alter table ns_queue add column refused integer not null default 0;

update ns_queue set declared = '{"order":"lifo"}' where is_lifo;       -- from now on `is_lifo` is the order in force

alter table ns_job add column lane text;
alter table ns_job add column key text;
alter table ns_job add column version text;
alter table ns_job add column fresh_for_us integer;
alter table ns_job add column own_expires_us integer;                  -- of a spilled job: what `expires_us` is once it enters

-- Jobs without a lane lie beside each other in these too: the queue of old is a queue with one lane.
drop index ns_job_ready;
create index ns_job_ready on ns_job (queue, lane, priority desc, due_us) where state = 'ready';
drop index ns_job_running;
create index ns_job_running on ns_job (queue, lane, worker) where state = 'running';
create index ns_job_asked on ns_job (worker) where state = 'running' and cancel_asked = 1;
create index ns_job_spilled on ns_job (queue, priority desc) where state = 'spilled';
create index ns_job_unfinished on ns_job (queue, lane)               -- for those who wait until a lane is drained
    where keep_until_us is null and lane is not null;

-- At most one unfinished job has a key, and at most one waits for it (I23).
create unique index ns_job_holder on ns_job (queue, key)
    where key is not null and keep_until_us is null and state <> 'waiting';
create unique index ns_job_successor on ns_job (queue, key) where state = 'waiting';

create table ns_lane (
    queue text    not null,
    lane  text    not null,                  -- '' for the jobs without one
    gate  text    not null,
    rank  integer not null,                  -- a turn or a moment, by the gate
    flow  text    not null,
    primary key (queue, lane)
) strict, without rowid;

create index ns_lane_place on ns_lane (queue, gate, rank, lane);

create table ns_news (
    id    integer primary key,
    queue text    not null,
    lane  text    not null,
    kind  text    not null,
    at_us integer not null,
    value integer not null
) strict;

create index ns_news_order on ns_news (queue, kind = 'came', id);

create table ns_success (                    -- the last success under each key
    queue    text    not null,
    key      text    not null,
    job      text    not null,               -- its id; the job itself may be gone
    at_us    integer not null,
    until_us integer not null,
    version  text,
    primary key (queue, key)
) strict, without rowid;

create index ns_success_term on ns_success (until_us);

-- Seen-sets. An approximate one is shaped by `sketch`, and its keys are bits in blocks.
alter table ns_queue add column seen_set integer;                      -- its number; null: no key was ever added
alter table ns_queue add column sketch text;                           -- JSON; null: the set is exact

create table ns_seen (
    seen_set integer not null,
    digest   blob    not null,
    until_us integer,                        -- null: for ever
    primary key (seen_set, digest)
) strict, without rowid;

create index ns_seen_term on ns_seen (until_us) where until_us is not null;

create table ns_seen_block (
    seen_set integer not null,
    block    integer not null,
    added    integer not null,               -- how many keys it took for new
    bits     blob    not null,               -- last: it lies on a page of its own
    primary key (seen_set, block)
) strict;

-- The mark of a job whose key is new again if it does not succeed; null for all others.
alter table ns_job add column seen_digest blob;
alter table ns_job add column seen_ttl_us integer;
