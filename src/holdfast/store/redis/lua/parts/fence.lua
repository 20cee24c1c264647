-- Whatever changes a running job presents its token.
-- include: shelf

-- Give the head of the job that runs under this token, or say why it is void.
local function held(stamp, id, token)
  local head = load(stamp)
  if not head or head[ID] ~= id then
    return nil, 'there is no job ' .. id
  end
  if head[STATE] ~= 'running' then
    return nil, 'job ' .. id .. ' is not running any more: it is ' .. head[STATE]
  end
  if head[TOKEN] ~= token then
    return nil, 'job ' .. id .. ' was claimed again, by worker ' .. head[WORKER]
  end
  return head
end
