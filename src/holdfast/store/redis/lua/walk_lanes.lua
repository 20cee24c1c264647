#!lua flags=no-writes
-- Name, in their order, lanes that have a ready job.
-- include: round
-- Args: now, again, the lane to begin behind, how many.
-- Answer: lanes. Fewer than were asked for: there are no more.
local lanes, lane = {}, ARGV[3]
for place = 1, tonumber(ARGV[4]) do
  lane = lane_behind(lane)
  if not lane then
    break
  end
  lanes[place] = lane
end
return lanes
