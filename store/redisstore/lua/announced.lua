-- announced: list the records of a topic, and remove those that are gone.
-- KEYS[1]  weir:{stage:pN}:topic:NAME  hash  name -> millisecond from which on it is gone, ':', value
-- returns  name, value, name, value ... in no order
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local held, live = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #held, 2 do
  local colon = string.find(held[i + 1], ':', 1, true)
  if tonumber(string.sub(held[i + 1], 1, colon - 1)) > ms then
    live[#live + 1] = held[i]
    live[#live + 1] = string.sub(held[i + 1], colon + 1)
  else
    redis.call('HDEL', KEYS[1], held[i])
  end
end
return live
