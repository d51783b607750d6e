-- closeclaims: let a partition take no more claims of earlier generations.
-- KEYS[1]  weir:{stage:pN}:claims  hash    '': generation before which no more are made
-- ARGV[1]  generation
-- returns  1
if (tonumber(redis.call('HGET', KEYS[1], '')) or 0) < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], '', ARGV[1]) end
return 1
