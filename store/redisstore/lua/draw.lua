-- draw: give a permit out of what no node has or is meant to get, now or a little ahead.
-- KEYS, ARGV[1] to ARGV[8]  see books
-- ARGV[9]  units of the permit
-- returns  1 and the microseconds until its time; or 0 and the microseconds after which to ask again, -1 when that is not known
local n = tonumber(ARGV[9])
if now < learn then
  save()
  return { 0, noted and 0 or learn - now }
end
local targets, aimed, promised = {}, 0, 0
local list = redis.call('HGETALL', KEYS[3])
for i = 1, #list, 2 do targets[list[i]] = tonumber(list[i + 1]) end
list = redis.call('HGETALL', KEYS[2])
for i = 1, #list, 2 do
  if now < tonumber(string.match(list[i + 1], '^%d+')) then aimed = aimed + (targets[list[i]] or 0) end
end
for i = 1, #list, 2 do
  local ends, out = string.match(list[i + 1], '^(%d+) (%d+)')
  if now < tonumber(ends) then
    local target = targets[list[i]] or 0
    if aimed > units then target = math.ceil(target * units / aimed) end -- targets of a limit that was higher
    promised = promised + math.max(out, target)
  elseif now < ends + window then
    promised = promised + out
  end
end

local at, left, i = math.max(now, last), sum, 0
while left + n > units - promised do
  local time, count = permit(i)
  if not time then
    save()
    return { 0, -1 }
  end
  at, left, i = math.max(at, time + keep), left - count, i + 1
end
if at - now > ahead then
  save()
  return { 0, at - now - ahead }
end

local grained = math.ceil(at / grain) * grain
local time, count = permit(-1)
if time == grained then
  redis.call('LSET', KEYS[4], -1, whole(time) .. ':' .. whole(count + n))
else
  redis.call('RPUSH', KEYS[4], whole(grained) .. ':' .. whole(n))
end
sum, last = sum + n, at
save()
return { 1, at - now }
