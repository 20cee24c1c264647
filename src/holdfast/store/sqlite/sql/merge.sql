-- Give a job that has yet to start a higher priority or an earlier time.
-- Params: priority, due, id.
update ns_job set priority = max(priority, ?), due_us = min(due_us, ?) where id = ?
