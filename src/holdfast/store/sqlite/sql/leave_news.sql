-- Leave news of one lane.
-- Params: queue, lane, kind, at, value.
insert into ns_news (queue, lane, kind, at_us, value) values (?, ?, ?, ?, ?)
