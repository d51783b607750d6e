-- books: the books of one limit, as package quota has them. It is put before hold and draw, behind server.
-- KEYS[1]  weir:{stage:q:RESOURCE:WINDOW}:meta     hash  run: server that keeps the books, learn: when it begins to give, ttl: longest yet,
--                                                        sum: of the permits, last: time of the newest, epoch: of the targets,
--                                                        at: time of the last call, noted: 1 until it is certain that nothing is out
-- KEYS[2]  weir:{stage:q:RESOURCE:WINDOW}:nodes    hash  node -> until, out, client, call, held, used, want, weight, drawn, quota, limit
-- KEYS[3]  weir:{stage:q:RESOURCE:WINDOW}:targets  hash  node -> target
-- KEYS[4]  weir:{stage:q:RESOURCE:WINDOW}:permits  list  time:units, oldest first
-- ARGV[1]  units    ARGV[2]  window    ARGV[3]  how long a permit counts    ARGV[4]  grain of the permits' times
-- ARGV[5]  ttl, 0 for none    ARGV[6]  ttl to assume while none is known    ARGV[7]  how far ahead permits are given; all in microseconds
-- ARGV[8]  what is known of the server: 0 it may be a promoted replica; 1 it is alone; 2 and keeps on its disk what it has acknowledged
local units, window, keep, grain, ttl, ahead = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[7])
local alone, disk = ARGV[8] ~= '0', ARGV[8] == '2'
local meta = redis.call('HMGET', KEYS[1], 'run', 'learn', 'ttl', 'sum', 'last', 'at', 'noted')
local learn, longest, sum, last = tonumber(meta[2]) or 0, math.max(ttl, meta[3] or 0), tonumber(meta[4]) or 0, tonumber(meta[5]) or 0
local lost = math.max(longest > 0 and longest or tonumber(ARGV[6]), ahead + keep - window) + window -- how long what was forgotten may be out
local known, noted = true, meta[7] == '1'

local function logs() -- the server writes its log; returns also how much of it is not written yet
  local info = redis.call('INFO', 'persistence')
  local fine = string.find(info, 'aof_enabled:1', 1, true) and string.find(info, 'aof_last_write_status:ok', 1, true)
    and string.find(info, 'aof_rewrite_in_progress:0', 1, true) and string.find(info, 'aof_rewrite_scheduled:0', 1, true)
  return fine, tonumber(string.match(info, 'aof_buffer_length:(%d+)'))
end

local function promoted() -- the server may have been a replica
  return not string.find(redis.call('INFO', 'replication'), 'master_replid2:' .. string.rep('0', 40), 1, true)
end

if meta[1] ~= run then -- these books are of another life of the server, or of another server, or there are none
  if meta[1] and disk and began - (tonumber(meta[6]) or 0) <= 2000000 then -- they are the last ones that were acknowledged
    learn = tonumber(meta[2]) or 0
  else -- something may be out of which we do not know
    learn, sum, last = began + lost, 0, 0
    if not alone and (meta[1] or promoted()) then learn = now + lost end -- the promotion may be of this moment
    if not meta[1] and disk then learn = 0 end -- books would be on the disk: there never were any
    noted = not meta[1] and ARGV[8] == '1' and learn > now and logs() -- see below
    redis.call('DEL', KEYS[2], KEYS[4])
    known = meta[1] or noted or ttl > 0 or learn <= now -- else the next call may know better how long to wait
  end
elseif noted and learn > now then -- no grant comes before the note is in the log: without a note there never was one
  local fine, unwritten = logs()
  if fine and unwritten == 0 then learn, noted = 0, false end
end

local function permit(i) -- time and units of the permit at a place in the list
  local time, n = string.match(redis.call('LINDEX', KEYS[4], i) or '', '^(%d+):(%d+)$')
  return tonumber(time), tonumber(n)
end

local time, n = permit(0)
while time and time + keep <= now do
  redis.call('LPOP', KEYS[4])
  sum = sum - n
  time, n = permit(0)
end

local function whole(x) return string.format('%.0f', x) end

local function save()
  if known then redis.call('HSET', KEYS[1], 'run', run, 'learn', whole(learn), 'ttl', whole(longest), 'sum', whole(sum), 'last', whole(last),
    'at', whole(now), 'noted', noted and '1' or '0') end
  for i = 1, 4 do redis.call('EXPIRE', KEYS[i], 86400) end -- a day after the last use nothing is left
end
