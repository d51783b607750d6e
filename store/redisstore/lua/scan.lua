-- scan: read a page of a partition's rows in order of keys.
-- KEYS[1]  weir:{stage:pN}:meta   hash  number: of the last commit
-- KEYS[2]  weir:{stage:pN}:rows   hash  row key -> value
-- KEYS[3]  weir:{stage:pN}:index  zset  row keys, all with score 0
-- ARGV[1]  from and  ARGV[2]  to, as ZRANGEBYLEX has them    ARGV[3]  most rows, -1 for all
-- ARGV[4]  1: the greatest key comes first
-- returns  the number, then key, value, key, value ...
local page = { redis.call('HGET', KEYS[1], 'number') or '0' }
local keys
if ARGV[4] == '1' then
  keys = redis.call('ZREVRANGEBYLEX', KEYS[3], ARGV[2], ARGV[1], 'LIMIT', 0, ARGV[3])
else
  keys = redis.call('ZRANGEBYLEX', KEYS[3], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
end
local most = 4000 -- arguments of one command: Lua's stack has room for some 7,000
for i = 1, #keys, most do
  local values = redis.call('HMGET', KEYS[2], unpack(keys, i, math.min(i + most - 1, #keys)))
  for n = 1, #values do
    page[#page + 1] = keys[i + n - 1]
    page[#page + 1] = values[n]
  end
end
return page
