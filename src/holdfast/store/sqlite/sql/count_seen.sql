-- Count the keys of a seen-set that are not past their term, and those that an approximate one took for new.
-- Params: number, now.
-- Cost: a walk over all of them.
select (select count(*) from ns_seen where seen_set = :number and (until_us is null or until_us > :now))
     + (select ifnull(sum(added), 0) from ns_seen_block where seen_set = :number)
