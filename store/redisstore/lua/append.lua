-- append: add a message to a partition's inbox, unless somebody made its claim before.
-- KEYS[1]  weir:{stage:pN}:inbox   stream  messages, ids by the server's time
-- KEYS[2]  weir:{stage:pN}:claims  hash    key of a claim -> its value
-- ARGV[1]  body of the message    ARGV[2]  key of the claim    ARGV[3]  its value
-- returns  nil when added, else the value of the claim that was there
local value = redis.call('HGET', KEYS[2], ARGV[2])
if value then return value end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
redis.call('XADD', KEYS[1], '*', 'b', ARGV[1])
return false
