-- Every script is called with ARGV[1] = the moment in microseconds ('' for the server's own clock) and
-- ARGV[2] = '1' if it is sent again because the answer to an earlier call was lost ('' otherwise).

local function server_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function now_us()
  return ARGV[1] ~= '' and tonumber(ARGV[1]) or server_us()
end

local function is_again()
  return ARGV[2] == '1'
end

-- Lua would write large integers with an exponent.
local function digits(number)
  return string.format('%.0f', number)
end
