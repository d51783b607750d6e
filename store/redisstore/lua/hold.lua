-- hold: record a node's report, and return its quota: at most its target, and at most what no other node may use.
-- KEYS, ARGV[1] to ARGV[8]  see books
-- ARGV[9]  node    ARGV[10]  client    ARGV[11]  number of its call    ARGV[12]  held    ARGV[13]  used    ARGV[14]  want    ARGV[15]  weight    ARGV[16]  drawn
-- returns  the quota, nil when the same client's later call was here before
local room, own, listed, targets = units, 0, 0, {} -- listed: what is known to be out at this node
local list = redis.call('HGETALL', KEYS[3])
for i = 1, #list, 2 do targets[list[i]] = tonumber(list[i + 1]) end
local target = targets[ARGV[9]] or 0
local aimed = target -- at by this node and all others whose quota has not ended
local nodes = redis.call('HGETALL', KEYS[2])
for i = 1, #nodes, 2 do
  local ends, out = string.match(nodes[i + 1], '^(%d+) (%d+)')
  if nodes[i] == ARGV[9] then
    listed = tonumber(out)
    local client, call = string.match(nodes[i + 1], '^%d+ %d+ (%S+) (%d+)')
    if client == ARGV[10] and tonumber(call) > tonumber(ARGV[11]) then return false end
    local given, limit = string.match(nodes[i + 1], '(%d+) (%d+)$')
    if ends + window > now and tonumber(limit) <= units then own = tonumber(given) end -- else it is a part of a limit that was lowered
  elseif ends + window <= now then
    redis.call('HDEL', KEYS[2], nodes[i])
  else
    room = room - out
    if now < tonumber(ends) then aimed = aimed + (targets[nodes[i]] or 0) end
  end
end

local function peak() -- most that the permits take at any time: some of those to come begin when others have gone
  if last <= now then return sum end
  local log, at, n = redis.call('LRANGE', KEYS[4], 0, -1), {}, {}
  local gone, taken, most = 1, 0, 0
  for i = 1, #log do
    local time, count = string.match(log[i], '^(%d+):(%d+)$')
    at[i], n[i] = tonumber(time), tonumber(count)
    while at[gone] + keep <= at[i] - grain do
      taken, gone = taken - n[gone], gone + 1
    end
    taken = taken + n[i]
    most = math.max(most, taken)
  end
  return most
end

local quota, held, used = 0, tonumber(ARGV[12]), tonumber(ARGV[13])
if held > listed then learn, noted = math.max(learn, began + lost), false end -- a young server's books do not know of it: they were lost
if ttl == 0 then
  held = 0
elseif now < learn then
  quota = held
else
  if aimed > units then target = math.ceil(target * units / aimed) end -- targets of a limit that was higher
  quota = math.min(target, math.max(room - peak(), math.min(own, room), 0))
end
local said = { whole(now + ttl), whole(math.max(held, used, quota)), ARGV[10], ARGV[11], whole(held), unpack(ARGV, 13, 16) }
said[#said + 1], said[#said + 2] = whole(quota), ARGV[1]
redis.call('HSET', KEYS[2], ARGV[9], table.concat(said, ' '))
save()
return whole(quota)
