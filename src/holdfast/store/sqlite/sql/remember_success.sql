-- Remember the last success under a key.
-- Params: queue, key, job, at, until, version.
insert or replace into ns_success (queue, key, job, at_us, until_us, version) values (?, ?, ?, ?, ?, ?)
