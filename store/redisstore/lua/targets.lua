-- targets: set the quotas that nodes should get, unless a newer leader has.
-- KEYS[1]  weir:{stage:q:RESOURCE:WINDOW}:meta     hash  epoch: of the leader that set the targets
-- KEYS[2]  weir:{stage:q:RESOURCE:WINDOW}:targets  hash  node -> target
-- ARGV[1]  epoch    then node, target, node, target ...
-- returns  1 when set, 0 when the epoch is older
local epoch = redis.call('HGET', KEYS[1], 'epoch') or '0' -- compared as text: a number of Lua's has 53 bits
if #epoch > #ARGV[1] or #epoch == #ARGV[1] and epoch > ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
redis.call('DEL', KEYS[2])
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
for i = 1, 2 do redis.call('EXPIRE', KEYS[i], 86400) end
return 1
