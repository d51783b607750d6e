-- server: what scripts about leases, incarnations and quotas ask of the server they run on. It is put before each of them.
-- gives  now, in microseconds    run, the server's identity    began, when it started at the latest
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local info = redis.call('INFO', 'server')
local run = string.match(info, 'run_id:(%w+)')
local began = (time[1] - string.match(info, 'uptime_in_seconds:(%d+)') + 1) * 1000000 -- it counts whole seconds of the clock
