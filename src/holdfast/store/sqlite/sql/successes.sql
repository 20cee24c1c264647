-- Find the last successes under some keys.
-- Params: places, a JSON list of lists: queue and key.
select s.queue, s.key, s.job, s.at_us, s.until_us, s.version
  from json_each(:places) p
  join ns_success s on s.queue = json_extract(p.value, '$[0]') and s.key = json_extract(p.value, '$[1]')
