-- incarnation: name the life of a server with its data. A new life gets a name when it is first asked.
-- KEYS[1]  weir:{stage:pN}:life  string  a name that goes with the data when they are flushed
-- ARGV[1]  a fresh name
-- returns  run id of the server, ':', name
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return run .. ':' .. redis.call('GET', KEYS[1])
