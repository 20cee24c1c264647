-- Store one job.
-- Params: everything a NewJob says, with its due time resolved on the store's clock.
-- Guarantee: a job id that is known, in whatever state, is left alone (I3).
insert into ns_job (id, queue, task, state, priority, due_us, created_us, expires_us, crash_budget,
                    keep_done_s, keep_dead_s, result_ttl_s, tags, seal, envelope, lane)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (id) do nothing
