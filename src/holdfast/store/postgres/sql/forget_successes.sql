-- Forget a slice of the successes that are past their term.
-- Params: now, limit.
delete from ns_success
 where (queue, key) in (select queue, key
                          from ns_success
                         where until_us <= %(now)s
                         order by until_us
                         limit %(limit)s
                           for update skip locked)
