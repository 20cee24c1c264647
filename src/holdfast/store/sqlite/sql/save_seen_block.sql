-- Keep a block of an approximate seen-set, and how many keys it took for new.
-- Params: set, block, how many more keys, bits.
-- Guarantee: called only with bits that were read, or found missing, under the same write lock.
insert into ns_seen_block (seen_set, block, added, bits) values (?, ?, ?, ?)
on conflict (seen_set, block) do update set added = added + excluded.added, bits = excluded.bits
