-- Keep where lanes stand, and what limits remember of them.
-- Params: queue; lanes, gates, ranks, flows: lists.
insert into ns_lane (queue, lane, gate, rank, flow)
select %(queue)s, lane, gate, rank, flow
  from unnest(%(lanes)s::text[], %(gates)s::text[], %(ranks)s::bigint[], %(flows)s::text[])
       as given (lane, gate, rank, flow)
on conflict (queue, lane) do update set gate = excluded.gate, rank = excluded.rank, flow = excluded.flow
