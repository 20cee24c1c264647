-- Delete jobs with all that belongs to them.
-- Params: jobs (seqs).
-- Answer: a row for each: its queue, and its key if it had one.
-- Guarantee: called only for rows that the same transaction has locked.
with tags as (
    delete from ns_tag where job = any (%(jobs)s::bigint[])
), runs as (
    delete from ns_run where job = any (%(jobs)s::bigint[])
)
delete from ns_job where seq = any (%(jobs)s::bigint[])
returning queue, case when keep_until_us is null then key end
