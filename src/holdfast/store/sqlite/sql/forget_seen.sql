-- Forget a slice of the keys that are past their term, in all seen-sets.
-- Params: now, limit.
delete from ns_seen
 where (seen_set, digest) in (select seen_set, digest from ns_seen
                               where until_us <= :now and until_us is not null
                               order by until_us
                               limit :limit)
