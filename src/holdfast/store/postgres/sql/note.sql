-- Record how far running jobs have come.
-- Params: ids, tokens, fractions, notes: lists.
-- Guarantee: fenced; a void token changes nothing (I10). Answers with the ids and tokens it took.
update ns_job as job
   set progress = given.fraction, progress_note = given.note
  from unnest(%(ids)s::text[], %(tokens)s::text[], %(fractions)s::double precision[], %(notes)s::text[])
       as given (id, token, fraction, note)
 where job.id = given.id and job.token = given.token and job.state = 'running'
returning job.id, job.token
