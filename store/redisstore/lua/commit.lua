-- commit: write a batch to a partition's state, unless the writer has been fenced off or is out of order.
-- KEYS[1]  weir:{stage:pN}:meta   hash    token: newest token granted, number: of the last commit, by: the token that made it
-- KEYS[2]  weir:{stage:pN}:rows   hash    row key -> value
-- KEYS[3]  weir:{stage:pN}:index  zset    row keys, all with score 0: their order
-- KEYS[4]  weir:{stage:pN}:inbox  stream  messages
-- ARGV[1]  token of the writer    ARGV[2]  number of this commit    ARGV[3]  id of the first message to keep, or ''
-- ARGV[4]  number of rows to set  then key, value ... then keys to delete
-- returns  1 when written, 0 when fenced, -n when n is the number wanted
local held = redis.call('HMGET', KEYS[1], 'token', 'number')
if held[1] ~= ARGV[1] then return 0 end
local want = (tonumber(held[2]) or 0) + 1
if string.format('%.0f', want) ~= ARGV[2] then return -want end

local most = 4000 -- arguments of one command: Lua's stack has room for some 7,000
local last = 4 + 2 * tonumber(ARGV[4])
for i = last + 1, #ARGV, most do
  local j = math.min(i + most - 1, #ARGV)
  redis.call('HDEL', KEYS[2], unpack(ARGV, i, j))
  redis.call('ZREM', KEYS[3], unpack(ARGV, i, j))
end
for i = 5, last, most do
  local j = math.min(i + most - 1, last)
  if redis.call('HSET', KEYS[2], unpack(ARGV, i, j)) > 0 then -- some of the keys are new
    local index = {}
    for n = i, j, 2 do
      index[#index + 1] = '0'
      index[#index + 1] = ARGV[n]
    end
    redis.call('ZADD', KEYS[3], unpack(index))
  end
end
if ARGV[3] ~= '' then redis.call('XTRIM', KEYS[4], 'MINID', '=', ARGV[3]) end
redis.call('HSET', KEYS[1], 'number', ARGV[2], 'by', ARGV[1])
return 1
