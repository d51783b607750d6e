-- append: add a message to a partition's inbox, unless its claim was made before.
-- KEYS[1]  weir:{stage:pN}:inbox   stream  messages, ids by the server's time
-- KEYS[2]  weir:{stage:pN}:claims  hash    key of a claim -> its value; '': generation before which no more are made
-- ARGV[1]  body of the message    ARGV[2]  key of the claim    ARGV[3]  its value    ARGV[4]  its generation
-- returns  nil when added, 0 when the generation is over, else the value of the claim that was there
local held = redis.call('HMGET', KEYS[2], ARGV[2], '')
if held[1] then return held[1] end
if (tonumber(held[2]) or 0) > tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
redis.call('XADD', KEYS[1], '*', 'b', ARGV[1])
return false
