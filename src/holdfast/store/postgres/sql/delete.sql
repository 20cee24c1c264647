-- Delete jobs with all that belongs to them.
-- Params: jobs (seqs).
-- Guarantee: called only for rows that the same transaction has locked.
with tags as (
    delete from ns_tag where job = any (%(jobs)s::bigint[])
), runs as (
    delete from ns_run where job = any (%(jobs)s::bigint[])
)
delete from ns_job where seq = any (%(jobs)s::bigint[])
