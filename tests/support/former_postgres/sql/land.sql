-- Put jobs where their runs have brought them, and keep the runs.
-- Params: one list for each value, in the order of the jobs; now.
-- Guarantee: called only for rows whose token was checked under a lock that is still held (I10). The run's record is
-- made of the row as it was before; a claim that was handed back unstarted is no run.
with given as materialized (
    select *
      from unnest(%(seqs)s::bigint[], %(states)s::text[], %(dues)s::bigint[], %(failures)s::bigint[],
                  %(crashes)s::bigint[], %(expiries)s::bigint[], %(finished)s::bigint[], %(kept)s::bigint[],
                  %(results)b::bytea[], %(result_untils)s::bigint[], %(reasons)s::text[], %(errors)s::text[],
                  %(tracebacks)s::text[], %(are_runs)s::boolean[], %(took)s::bigint[], %(outcomes)s::text[],
                  %(run_reasons)s::text[], %(run_errors)s::text[], %(run_tracebacks)s::text[])
           as given (seq, state, due_us, failures, crashes, expires_us, finished_us, keep_until_us, result,
                     result_until_us, reason, error, traceback, is_run, took_us, outcome, run_reason, run_error,
                     run_traceback)
), landed as (
    update ns_job as job
       set state = given.state, due_us = given.due_us, failures = given.failures, crashes = given.crashes,
           expires_us = given.expires_us, finished_us = given.finished_us, keep_until_us = given.keep_until_us,
           result = given.result, result_until_us = given.result_until_us, reason = given.reason, error = given.error,
           traceback = given.traceback, worker = null, token = null, claimed_us = null
      from given
     where job.seq = given.seq
)
insert into ns_run (job, number, generation, worker, token, claimed_us, ended_us, took_us, outcome, reason, error,
                    traceback)
select seq, deliveries, generation, worker, token, claimed_us, %(now)s, took_us, outcome, run_reason, run_error,
       run_traceback
  from given join (select seq, deliveries, generation, worker, token, claimed_us from ns_job) as job using (seq)
 where is_run
