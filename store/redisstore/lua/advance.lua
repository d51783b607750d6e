-- advance: set the number of a partition's last commit without a commit, unless the writer has been fenced off or it goes back.
-- KEYS[1]  weir:{stage:pN}:meta  hash  token: newest token granted, number: of the last commit, by: the token that made it
-- ARGV[1]  token of the writer    ARGV[2]  number
-- returns  1 when set, 0 when fenced, -n when n is the least number that is not refused
local held = redis.call('HMGET', KEYS[1], 'token', 'number')
if held[1] ~= ARGV[1] then return 0 end
local last = tonumber(held[2]) or 0
if tonumber(ARGV[2]) <= last then return -(last + 1) end
redis.call('HSET', KEYS[1], 'number', ARGV[2], 'by', ARGV[1])
return 1
