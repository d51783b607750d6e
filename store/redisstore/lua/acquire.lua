-- acquire: grant a partition's lease with a new token, unless another owner's lasts or that owner has precedence.
-- KEYS[1]  weir:{stage:pN}:meta   hash    token: newest token granted, owner: whom it was granted to, unless it was given back,
--                                         run: the server that granted or renewed it, grace: until when the owner has precedence
-- KEYS[2]  weir:{stage:pN}:lease  string  owner; expires with the lease
-- ARGV[1]  owner    ARGV[2]  milliseconds    ARGV[3]  nonce of the new token
-- ARGV[4]  milliseconds of precedence for the owner of before on another server; 0: none
-- returns  the epoch of the new token, nil when the lease is held or a former owner has precedence
local owner = redis.call('GET', KEYS[2])
if owner and owner ~= ARGV[1] then return false end
local held = redis.call('HMGET', KEYS[1], 'token', 'owner', 'run', 'grace')
local ms = math.floor(now / 1000) -- a server that was set back may have forgotten epochs: time has not
if held[2] and held[2] ~= ARGV[1] and ARGV[4] ~= '0' then
  if held[3] ~= run then
    held[4] = string.format('%.0f', ms + ARGV[4])
    redis.call('HSET', KEYS[1], 'run', run, 'grace', held[4])
  end
  if ms < (tonumber(held[4]) or 0) then return false end
end
local last = held[1] and tonumber(string.match(held[1], '^%d+')) or 0
local epoch = string.format('%.0f', math.max(last + 1, ms))
redis.call('HSET', KEYS[1], 'token', epoch .. ':' .. ARGV[3], 'owner', ARGV[1], 'run', run, 'grace', '0')
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return epoch
