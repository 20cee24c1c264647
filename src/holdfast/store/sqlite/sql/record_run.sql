-- Keep one finished run.
-- Params: job (seq), number, generation, worker, token, claimed, ended, took, outcome, reason, error, traceback.
insert into ns_run (job, number, generation, worker, token, claimed_us, ended_us, took_us, outcome, reason, error, traceback)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
