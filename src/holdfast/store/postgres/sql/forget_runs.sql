-- Forget all but the last runs of some jobs.
-- Params: jobs (seqs), keep: how many. Numbers have gaps: a claim handed back unstarted is no run.
delete from ns_run as run
 using unnest(%(jobs)s::bigint[]) as asked (job)
 where run.job = asked.job
   and number <= (select number from ns_run where job = asked.job order by number desc limit 1 offset %(keep)s)
