-- Forget all but the last runs of one job.
-- Params: job (seq), the same again, how many to keep. Numbers have gaps: a claim handed back unstarted is no run.
delete from ns_run
 where job = ?
   and number <= (select number from ns_run where job = ? order by number desc limit 1 offset ?)
