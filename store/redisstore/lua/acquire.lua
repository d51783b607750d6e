-- acquire: grant a partition's lease with a new token, unless another owner's lasts.
-- KEYS[1]  weir:{stage:pN}:meta   hash    token: newest token granted, owner: whom it was granted to
-- KEYS[2]  weir:{stage:pN}:lease  string  owner; expires with the lease
-- ARGV[1]  owner    ARGV[2]  milliseconds    ARGV[3]  nonce of the new token
-- returns  the epoch of the new token, nil when the lease is held
local owner = redis.call('GET', KEYS[2])
if owner and owner ~= ARGV[1] then return false end
local stored = redis.call('HGET', KEYS[1], 'token')
local last = stored and tonumber(string.match(stored, '^%d+')) or 0
local now = redis.call('TIME') -- a server that was set back may have forgotten epochs: time has not
local epoch = math.max(last + 1, now[1] * 1000 + math.floor(now[2] / 1000))
epoch = string.format('%.0f', epoch)
redis.call('HSET', KEYS[1], 'token', epoch .. ':' .. ARGV[3], 'owner', ARGV[1])
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return epoch
