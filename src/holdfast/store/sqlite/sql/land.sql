-- Put a job where its run has brought it.
-- Params: the values it takes on, then its seq.
-- Guarantee: called only for rows whose token was checked under the same write lock (I10).
update ns_job
   set state = ?, due_us = ?, generation = ?, failures = ?, crashes = ?, expires_us = ?, finished_us = ?, keep_until_us = ?,
       result = ?, result_until_us = ?, reason = ?, error = ?, traceback = ?, worker = null, token = null, claimed_us = null
 where seq = ?
