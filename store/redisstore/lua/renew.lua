-- renew: extend leases of partitions, each if its token is still the newest.
-- KEYS[1]  weir:{stage:pN}:meta   hash    token: newest token granted, owner: whom it was granted to, run: the server,
--                                         number, by: of the last commit
-- KEYS[2]  weir:{stage:pN}:lease  string  owner; expires with the lease    and so on, two for each partition
-- ARGV[1]  milliseconds    ARGV[2]  token    and so on, one for each partition
-- returns  1 when extended, 0 when fenced, then number and by, empty for none, for each partition
local answers = {}
for i = 1, #KEYS / 2 do
  local held = redis.call('HMGET', KEYS[2 * i - 1], 'token', 'owner', 'run', 'number', 'by')
  local extended = '0'
  if held[1] == ARGV[i + 1] then
    redis.call('SET', KEYS[2 * i], held[2], 'PX', ARGV[1])
    if held[3] ~= run then redis.call('HSET', KEYS[2 * i - 1], 'run', run) end
    extended = '1'
  end
  for _, v in ipairs({ extended, held[4] or '', held[5] or '' }) do answers[#answers + 1] = v end
end
return answers
