-- Find the best ready jobs of some lanes, the longest due first among equals.
-- Params: queue; names of lanes, a JSON list ('' for jobs without one); now; limit, for each lane.
-- Answer: per lane a JSON list of seqs, the best first.
select n.value,
       (select json_group_array(seq)
          from (select seq from ns_job
                 where queue = :queue and lane is nullif(n.value, '') and state = 'ready'
                   and (expires_us is null or expires_us > :now)  -- a slice of expired ones may be left over
                 order by priority desc, due_us, seq
                 limit :limit))
  from json_each(:names) n
