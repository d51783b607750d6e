-- renew: extend a partition's lease, if the token is still the newest.
-- KEYS[1]  weir:{stage:pN}:meta   hash    token: newest token granted, owner: whom it was granted to, run: the server
-- KEYS[2]  weir:{stage:pN}:lease  string  owner; expires with the lease
-- ARGV[1]  token    ARGV[2]  milliseconds
-- returns  1 when extended, 0 when fenced
local held = redis.call('HMGET', KEYS[1], 'token', 'owner', 'run')
if held[1] ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], held[2], 'PX', ARGV[2])
if held[3] ~= run then redis.call('HSET', KEYS[1], 'run', run) end
return 1
