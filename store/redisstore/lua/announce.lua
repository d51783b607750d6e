-- announce: write a record of a topic that is gone after a while, or remove it.
-- KEYS[1]  weir:{stage:pN}:topic:NAME  hash  name -> millisecond from which on it is gone, ':', value
-- ARGV[1]  name    ARGV[2]  value    ARGV[3]  milliseconds, 0 to remove it
-- returns  nil
local ttl = tonumber(ARGV[3])
if ttl == 0 then return redis.call('HDEL', KEYS[1], ARGV[1]) and false end
local now = redis.call('TIME')
local gone = now[1] * 1000 + math.floor(now[2] / 1000) + 1 + ttl -- the millisecond that has begun does not count
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', gone) .. ':' .. ARGV[2])
if redis.call('PTTL', KEYS[1]) < 2 * ttl then redis.call('PEXPIRE', KEYS[1], 2 * ttl) end -- nothing stays for ever
return false
