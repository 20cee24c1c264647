-- Find the unfinished jobs that have, or wait for, some keys.
-- Params: places, a JSON list of lists: queue and key.
select j.queue, j.key, j.id, j.state, j.version, j.seen_digest
  from json_each(:places) p
  join ns_job j on j.queue = json_extract(p.value, '$[0]') and j.key = json_extract(p.value, '$[1]')
   and j.key is not null and j.keep_until_us is null and j.state <> 'waiting'
union all
select j.queue, j.key, j.id, j.state, j.version, j.seen_digest
  from json_each(:places) p
  join ns_job j on j.queue = json_extract(p.value, '$[0]') and j.key = json_extract(p.value, '$[1]') and j.state = 'waiting'
