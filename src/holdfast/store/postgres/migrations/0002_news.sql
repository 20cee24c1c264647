-- Who made a job ready: the transaction's number, in an index of its own.
--
-- While someone's transaction stays open, what left the index of ready jobs cannot be cleared away, and each claim would walk
-- over all of it. With this a process that knows the ready jobs of one moment finds those that came since (see `shelf`). The
-- number is set by the table itself, so programs that know nothing of it are good producers and workers too.

alter table ns_job add born bigint;
alter table ns_job alter born set default (pg_current_xact_id()::text)::bigint;

create function ns_mark_born() returns trigger language plpgsql as $$
begin
    new.born := pg_current_xact_id()::text::bigint;
    return new;
end
$$;

create trigger born before update of state on ns_job for each row
    when (new.state = 'ready' and old.state <> 'ready') execute function ns_mark_born();

-- The condition is written so that who asks in the same words is sure not to be given the index of ready jobs.
create index job_news on ns_job (queue, born) where state || '' = 'ready';

-- Whom a beat tells of a wish to cancel, found without a walk over what has run.
create index job_asked on ns_job (worker) where state = 'running' and cancel_asked;
