-- Lanes and limits: policies, what limits remember of queues and lanes, and the news that the next claim acts on.
--
-- `ns_lane` is written by claims and by people's acts only. What else may change how a lane stands leaves a row in
-- `ns_news`. See `store/flowing`.

alter table ns_queue add column declared text;                         -- JSON; null: a plain policy
alter table ns_queue add column overlay text;                          -- JSON; null: none
alter table ns_queue add column is_flowing integer not null default 0; -- never taken back
alter table ns_queue add column flow text;                             -- JSON; null: nothing to remember
alter table ns_queue add column opens_us integer default 0;            -- from when it may start jobs; null: an event decides

update ns_queue set declared = '{"order":"lifo"}' where is_lifo;       -- from now on `is_lifo` is the order in force

alter table ns_job add column lane text;

-- Jobs without a lane lie beside each other in these too: the queue of old is a queue with one lane.
drop index ns_job_ready;
create index ns_job_ready on ns_job (queue, lane, priority desc, due_us) where state = 'ready';
drop index ns_job_running;
create index ns_job_running on ns_job (queue, lane, worker) where state = 'running';
create index ns_job_asked on ns_job (worker) where state = 'running' and cancel_asked = 1;

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
