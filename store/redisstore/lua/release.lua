-- release: give a partition's lease back, if the token is still the newest.
-- KEYS[1]  weir:{stage:pN}:meta   hash    token: newest token granted, owner: whom it was granted to
-- KEYS[2]  weir:{stage:pN}:lease  string  owner; expires with the lease
-- ARGV[1]  token    ARGV[2]  what to leave in its place: its epoch with nonce 0, which no owner has
-- returns  1 when given back, 0 when the token was stale
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'token', ARGV[2])
redis.call('HDEL', KEYS[1], 'owner') -- the next owner finds everything: none has precedence
redis.call('DEL', KEYS[2])
return 1
