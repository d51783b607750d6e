-- swap: replace a lasting record, if it is what the caller saw last.
-- KEYS[1]  weir:{stage:pN}:record:NAME  string  the record, sealed
-- ARGV[1]  what the caller saw, '' for none    ARGV[2]  what to put in its place
-- returns  what is there afterwards, nil for none
local held = redis.call('GET', KEYS[1])
if (held or '') ~= ARGV[1] then return held end
redis.call('SET', KEYS[1], ARGV[2])
return ARGV[2]
