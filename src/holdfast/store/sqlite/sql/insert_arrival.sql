-- Store one job about which a key, a bound or a seen-set has been asked.
-- Params: everything an Arrival says.
-- Guarantee: called only for ids that were found unknown under the same write lock. Two jobs with one key are an error
--            of the database, never a fact in it (I23).
insert into ns_job (id, queue, task, state, priority, due_us, created_us, expires_us, crash_budget,
                    keep_done_s, keep_dead_s, result_ttl_s, tags, seal, envelope, lane,
                    key, version, fresh_for_us, own_expires_us, finished_us, keep_until_us, reason,
                    seen_digest, seen_ttl_us)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
