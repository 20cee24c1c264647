-- Give jobs that have yet to start a higher priority or an earlier time.
-- Params: ids, priorities, dues: lists.
-- A ready one gets another place by that, of which shelves have to hear: it is born anew.
update ns_job as job
   set priority = greatest(job.priority, given.priority), due_us = least(job.due_us, given.due_us),
       born = pg_current_xact_id()::text::bigint
  from (select id, max(priority) as priority, min(due_us) as due_us
          from unnest(%(ids)s::text[], %(priorities)s::bigint[], %(dues)s::bigint[]) as line (id, priority, due_us)
         group by id) as given
 where job.id = given.id
