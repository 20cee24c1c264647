-- The job core: queues, jobs, runs, tags, workers.
--
-- One row per job for its whole life. What is hot is kept apart by partial indexes, so a finished job leaves every
-- index that a claim reads in the same step that ends it, and the unique id outlives the run: a push that is
-- repeated while its job is being settled finds the row (I3).

create table ns_queue (
    name      text primary key,
    is_lifo   integer not null default 0,
    is_paused integer not null default 0
) strict, without rowid;

create table ns_job (
    seq             integer primary key,     -- order of arrival
    id              text    not null unique,
    queue           text    not null,
    task            text    not null,
    state           text    not null,
    priority        integer not null,
    due_us          integer not null,        -- when it became, or becomes, claimable
    created_us      integer not null,
    expires_us      integer,
    generation      integer not null default 1,
    deliveries      integer not null default 0,
    failures        integer not null default 0,
    crashes         integer not null default 0,
    crash_budget    integer not null,
    keep_done_s     integer not null,
    keep_dead_s     integer not null,
    result_ttl_s    integer not null,
    worker          text,                    -- these three only while it runs
    token           text,
    claimed_us      integer,
    cancel_asked    integer not null default 0,
    progress        real,
    progress_note   text,
    finished_us     integer,
    keep_until_us   integer,                 -- set if and only if the state is final
    reason          text,
    error           text,
    traceback       text,
    result_until_us integer,
    result          blob,
    tags            text,                    -- a JSON list, or null; the index is ns_tag
    seal            blob,
    envelope        blob    not null
) strict;

create index ns_job_ready on ns_job (queue, priority desc, due_us) where state = 'ready';
create index ns_job_scheduled on ns_job (queue, due_us) where state = 'scheduled';
create index ns_job_running on ns_job (worker, queue) where state = 'running';
create index ns_job_parked on ns_job (queue, task) where state = 'parked';
create index ns_job_expiring on ns_job (queue, expires_us)
    where expires_us is not null and state in ('waiting', 'scheduled', 'ready', 'parked', 'spilled');
create index ns_job_final on ns_job (queue, state, keep_until_us) where keep_until_us is not null;
create index ns_job_dead on ns_job (state) where state in ('failed', 'cancelled', 'expired', 'parked');
create index ns_job_stale_result on ns_job (result_until_us)
    where result is not null and result_until_us < keep_until_us;

create table ns_tag (
    tag text    not null,
    job integer not null,
    primary key (tag, job)
) strict, without rowid;

create table ns_run (
    job        integer not null,
    number     integer not null,
    generation integer not null,
    worker     text    not null,
    token      text    not null,
    claimed_us integer not null,
    ended_us   integer not null,
    took_us    integer not null,
    outcome    text    not null,
    reason     text,
    error      text,
    traceback  text,
    primary key (job, number)
) strict, without rowid;

create table ns_worker (
    id         text primary key,
    host       text    not null,
    pid        integer not null,
    tasks      text    not null,             -- JSON lists
    queues     text    not null,
    lease_us   integer not null,
    started_us integer not null,
    is_leaving integer not null default 0,   -- someone has asked it to stop
    ended_us   integer                       -- set once, for ever: left or rescued
) strict, without rowid;

create index ns_worker_live on ns_worker (id) where ended_us is null;
