-- Record how far a running job has come.
-- Params: fraction, note, id, token.
-- Guarantee: fenced; a void token changes nothing (I10).
update ns_job
   set progress = ?, progress_note = ?
 where id = ? and token = ? and state = 'running'
