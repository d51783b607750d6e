-- swap: make, replace or remove a lasting record, if it is what the caller saw last.
-- KEYS[1]  weir:{stage:pN}:record:NAME  string  the record, sealed
-- KEYS[2]  weir:{stage:pN}:records      zset    names of the records, all with score 0
-- ARGV[1]  what the caller saw    ARGV[2]  what to put in its place    '' for none    ARGV[3]  name
-- returns  what is there afterwards, nil for none
local held = redis.call('GET', KEYS[1])
if (held or '') ~= ARGV[1] then return held end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[3])
  return false
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('ZADD', KEYS[2], 0, ARGV[3])
return ARGV[2]
