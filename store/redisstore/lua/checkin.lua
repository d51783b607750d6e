-- checkin: write a record of a topic that is gone after a while, list the topic, and read lasting records.
-- KEYS[1]  weir:{stage:pN}:topic:NAME  hash  see announce    then weir:{stage:pN}:record:NAME  string, the lasting records
-- ARGV[1]  name    ARGV[2]  value    ARGV[3]  milliseconds, 0 to remove it
-- returns  milliseconds until the first record of another name is gone, 0 for none; the lasting records, nil for none;
--          then name, value, name, value ... of the topic, in no order
local time = redis.call('TIME')
local now, ttl = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[3])
if ttl == 0 then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now + 1 + ttl) .. ':' .. ARGV[2]) -- the millisecond that has begun does not count
  if redis.call('PTTL', KEYS[1]) < 2 * ttl then redis.call('PEXPIRE', KEYS[1], 2 * ttl) end -- nothing stays for ever
end
local answer, first = { 0 }, nil
for i = 2, #KEYS do answer[i] = redis.call('GET', KEYS[i]) end
local held = redis.call('HGETALL', KEYS[1])
for i = 1, #held, 2 do
  local colon = string.find(held[i + 1], ':', 1, true)
  local gone = tonumber(string.sub(held[i + 1], 1, colon - 1))
  if gone > now then
    answer[#answer + 1] = held[i]
    answer[#answer + 1] = string.sub(held[i + 1], colon + 1)
    if held[i] ~= ARGV[1] then first = math.min(first or gone, gone) end
  else
    redis.call('HDEL', KEYS[1], held[i])
  end
end
if first then answer[1] = first - now end
return answer
