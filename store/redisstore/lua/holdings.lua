-- holdings: list what the nodes said last whose quota has not ended.
-- KEYS[1]  weir:{stage:q:RESOURCE:WINDOW}:nodes  hash  node -> until, out, client, call, held, used, want, weight, drawn, quota, limit
-- returns  node, held, used, want, weight, drawn, node, ...
local live, nodes = {}, redis.call('HGETALL', KEYS[1])
for i = 1, #nodes, 2 do
  local ends, held, used, want, weight, drawn = string.match(nodes[i + 1], '^(%d+) %d+ %S+ %d+ (%S+) (%S+) (%S+) (%S+) (%S+)')
  if now < tonumber(ends) then
    for _, v in ipairs({ nodes[i], held, used, want, weight, drawn }) do live[#live + 1] = v end
  end
end
return live
