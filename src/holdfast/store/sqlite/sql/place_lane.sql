-- Keep where a lane stands, and what limits remember of it.
-- Params: queue, lane, gate, rank, flow.
insert into ns_lane (queue, lane, gate, rank, flow) values (?, ?, ?, ?, ?)
on conflict (queue, lane) do update set gate = excluded.gate, rank = excluded.rank, flow = excluded.flow
