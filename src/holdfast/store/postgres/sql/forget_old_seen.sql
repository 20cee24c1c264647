-- Forget a slice of the keys that are past their term, in all seen-sets.
-- Params: now, limit.
delete from ns_seen
 where (queue, digest) in (select queue, digest
                             from ns_seen
                            where until_us <= %(now)s and until_us is not null
                            order by until_us
                            limit %(limit)s
                              for update skip locked)
