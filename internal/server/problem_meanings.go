package server

// meaning explains a code, in its problems and on its page.
type meaning struct {
	status int    // of the answer
	title  string // empty: the first sentence of what
	what   string // what it means
	fix    string // what to do about it
}

// meanings explain all codes that the server answers with.
var meanings = map[string]meaning{
	// Faults in the format of a request.
	"bad_request": {422, "Invalid request", "The request does not have the format that the route expects.",
		"The detail names the field. /docs lists what each route takes."},
	"bad_json": {400, "Invalid JSON", "The body is not one JSON object, or it ends too early. The detail names the byte and " +
		"the field.", "Send one whole JSON object."},
	"bad_encoding": {400, "Body is not UTF-8", "The body is not UTF-8 text, or has a NUL character where it cannot be stored.",
		"Convert it to UTF-8. A byte-order mark may stay."},
	"duplicate_field": {400, "Duplicate field", "An object has the same field twice. Programs differ in which one they use.",
		"Remove one of them."},
	"duplicate_key": {422, "", "The object of an item has the same member twice.", "Remove one of them."},
	"unknown_field": {400, "Unknown field", "The route does not know this field. Names are case-sensitive.",
		"The fix suggests a field."},
	"too_deep": {400, "JSON is nested too deeply", "The JSON is nested more than 1,000 levels deep.", "Flatten it."},
	"bad_number": {400, "Number out of range", "A number is not an integer where one is required, or is too large to be " +
		"exact in all programs.", "Use integers below 2^53."},
	"missing_field": {422, "Missing field", "A required field is missing.", "Give it a value."},
	"bad_value": {422, "Invalid value", "A field has an invalid value, or one that is not in its list.",
		"The fix lists the valid values."},
	"bad_text": {422, "", "A text has control characters or characters that change the direction of text (bidirectional " +
		"embeddings, overrides and isolates: U+202A to U+202E, U+2066 to U+2069), is not UTF-8, or is too long.",
		"Use printable characters, mostly at most 128 bytes."},
	"bad_name": {422, "", "A name has characters that cannot be part of a path.",
		"Use letters, digits, '.', '-' and '_', at most 128."},
	"out_of_range": {422, "", "A value is outside of its bounds. The detail names them.",
		"Choose a value within the bounds, or leave the field out for its default."},
	"bad_option": {422, "", "An option for reading items is invalid.", "The detail names the option and its valid values."},
	"unsupported_media_type": {415, "Unsupported content type", "The route does not read this Content-Type, or its charset " +
		"is not UTF-8.", "Send application/json; items may also come as application/x-ndjson or text/csv."},
	"unsupported_encoding": {415, "Unsupported content encoding", "The body is compressed twice, or with something other " +
		"than gzip or zstd.", "Send it uncompressed, or compressed once with gzip or zstd."},
	"body_too_large": {413, "Body too large", "The body is larger than the server reads.",
		"Send it in parts. Items can be added by any number of requests."},
	"too_many_values": {413, "Too many JSON values", "The JSON has more than 250,000 names, values and brackets, which take " +
		"far more memory than the text.",
		"Append items with POST …/items, which takes any number, or send the rest in further requests."},
	"expands_too_far": {413, "Body decompresses to too much data", "The body decompresses to more than a hundred times its " +
		"size, or to more than the server reads.", "Send it uncompressed, or in parts."},
	"window_too_large": {413, "Compression window too large", "The zstd data is valid, but needs a larger window in memory " +
		"than the server gives: 8 MiB for a body, 128 MiB for an upload.",
		"Compress it without --long and --ultra, or with gzip."},
	"bad_gzip": {400, "Body cannot be decompressed", "The body is declared or looks compressed, and cannot be decompressed.",
		"Compress it again, and send all of it."},
	"cut_body": {400, "Incomplete body", "The body ended early. None of it was processed.", "Send it again."},
	"too_slow": {408, "Body arrives too slowly", "The body arrived at less than 1 KB/s for too long.",
		"Send it again over a better connection, or as a resumable upload."},
	"headers_too_large": {431, "Headers too large", "The headers exceed 32 KiB.", "Send fewer or shorter headers."},
	"bad_query": {400, "Invalid query", "The query has unknown, repeated or too many parameters, or cannot be parsed.",
		"/docs lists the parameters of each route."},
	"bad_cursor": {400, "Invalid cursor", "The cursor was modified, or belongs to another list or other filters.",
		"Start without a cursor, and pass next_cursor unchanged."},
	"bad_filter": {400, "Invalid filter", "A filter cannot be parsed, or its times are not in order. The detail names the position.",
		"Correct it. Filters compare fields such as item.country == 'DE'."},
	"bad_expression": {422, "", "An expression of a step does not compile. The detail names the position.",
		"Correct it. Expressions see id, item, params and the answers of earlier steps."},
	"bad_schema":    {422, "", "The JSON schema of an action is invalid.", "Correct it according to its draft."},
	"no_such_route": {404, "Unknown path", "The path does not exist.", "/docs lists the routes."},
	"method_not_allowed": {405, "Method not allowed", "The path does not support this method.",
		"The Allow header lists the methods."},
	// Repeats.
	"bad_idempotency_key": {400, "Invalid Idempotency-Key", "The header Idempotency-Key is empty, too long, not printable " +
		"ASCII, or repeated.", "Send one of 1 to 255 printable ASCII characters, such as a UUID."},
	"idempotency_conflict": {409, "Idempotency-Key was used for a different request", "The Idempotency-Key was used for a " +
		"different request. The detail names the difference.",
		"Use a new key for a new request, and the same key only to repeat an unchanged request."},
	"in_progress": {409, "The same request is in progress", "Another process is working on the same request.",
		"Retry after the time in Retry-After."},
	// Items.
	"no_items": {422, "", "The bulk action has no items.", "Add at least one, or create the bulk action with allow_empty."},
	"too_many_items": {422, "", "The bulk action exceeds the maximum number of items, or alone has more than its tenant may " +
		"have pending.", "Split them over several bulk actions, or raise the limit that the detail names."},
	"item_too_large": {422, "", "An item exceeds 256 KiB.",
		"Store large content elsewhere and put a reference to it into the item."},
	"missing_id":  {422, "", "An item has no id.", "Give every item an id, or name the field that holds it with item_id."},
	"bad_id":      {422, "", "An id is neither a string nor an integer.", "Write the id as a string."},
	"id_too_long": {422, "", "An id exceeds 256 bytes.", "Use a shorter id, or another column."},
	"duplicate_item": {422, "", "Two items have the same id. The detail names both positions.",
		"Remove one, or set duplicates to keep_first or keep_all."},
	"bad_item": {422, "", "An item does not match the schema of the action.", "Correct it, or set on_bad_line to record."},
	"bad_line": {422, "", "A line is not one JSON object. The detail names line and column.",
		"Correct it, or set on_bad_line to record."},
	"bad_csv": {422, "", "The CSV cannot be read. The detail names the line and what was found.",
		"Correct it, or name the delimiter or the id column."},
	"not_text":          {422, "", "The file is not text.", "Export it as CSV or NDJSON."},
	"cut_short":         {422, "", "The file is incomplete.", "Send all of it."},
	"corrupt":           {422, "", "The compressed data is damaged.", "Compress it again."},
	"unreadable":        {422, "", "The items could not be read.", "Try again."},
	"too_many_appends":  {409, "Too many appends", "Items were appended in too many requests.", "Send more items in each."},
	"unknown_upload":    {422, "", "The upload does not exist.", "Check its id, or start a new one."},
	"upload_incomplete": {422, "", "The upload has not ended.", "Send the rest of it first."},
	// Faults in the content of a request.
	"unknown_action": {422, "", "The action does not exist, or the API key has no access to it.",
		"The fix lists the available actions."},
	"unknown_template": {422, "", "The template does not exist, or belongs to another tenant.",
		"The fix lists the available templates."},
	"action_disabled": {422, "", "The action is disabled.", "Ask the operator of the action, or choose another."},
	"no_steps":        {422, "", "The bulk action has no steps.", "Name at least one action."},
	"too_many_steps":  {422, "", "The bulk action has more than 16 steps.", "Split the chain."},
	"duplicate_step":  {422, "", "Two steps have the same id.", "Give each step an id of its own."},
	"unknown_step":    {422, "", "The step does not exist.", "The detail lists the steps."},
	"no_undo":         {422, "", "The work of an action cannot be undone.", "Give the action an undo_url."},
	"no_handler":      {422, "", "This program has no handler for the action.", "Run a node that has the action."},
	"bad_time": {422, "", "A time has passed, is too far away, has no zone, or does not exist on that day; or a cron rule " +
		"cannot be read or never fires.",
		"Write RFC 3339 with an offset, or a local time and a zone; of cron five fields: minute, hour, day, month, weekday."},
	"bad_scaling":         {422, "", "The scaling rules contradict each other.", "The detail names the field and its bounds."},
	"bad_url":             {422, "", "A URL cannot be called.", "Use http or https, a host, no user, no fragment, and a usual port."},
	"address_not_allowed": {422, "", "A URL resolves to an internal address.", "An operator can allow it with egress.allow."},
	"no_endpoint":         {422, "", "The action has no URL.", "Give the action a url."},
	"bad_header":          {422, "", "A header of an action cannot be sent.", "The detail names the header and the problem."},
	"bad_secret":          {422, "", "A secret cannot be used for signing.", "Write whsec_ and the base64 of 24 to 64 random bytes."},
	"bad_certificate":     {422, "", "A certificate cannot be used.", "Send it in PEM."},
	"bad_method":          {422, "", "A source does not support this method.", "Use GET or POST."},
	"bad_param":           {422, "", "A parameter of a source cannot be used.", "The detail names it."},
	"bad_body":            {422, "", "The request body for a source is invalid.", "Write a JSON object."},
	"bad_format":          {422, "", "The format of a source is unknown.", "Use csv, ndjson or json."},
	"bad_delimiter":       {422, "", "The delimiter cannot separate cells.", "Use one of , ; | or a tab."},
	"bad_source":          {422, "", "The source definition is invalid.", "The detail names the field."},
	"source_unavailable": {422, "Source cannot be reached", "The source of a draft cannot be reached or does not answer now. The detail says why; " +
		"the field names the source.", "Check the address. If it is right, try again when the source answers."},
	"bad_connection":     {422, "", "The connection definition is invalid.", "The detail names the field."},
	"unknown_connection": {422, "", "The connection does not exist, or the API key has no access to it.", "Check its name."},
	"too_long":           {422, "", "A text is too long.", "Shorten it."},
	"unknown_resource":   {422, "", "The resource does not exist.", "The detail lists the resources."},
	// States.
	"not_found": {404, "Not found", "The object does not exist, or the API key has no access to it. The answer is the same " +
		"for both. The detail names the object.",
		"Check the id and the key. The fix says how to list the objects of this kind."},
	"lost": {410, "Possibly lost by the store", "The id is not in the store, and the store lost accepted work of its " +
		"partition after the id was created. An operator accepted the loss. The detail has the dates.",
		"Create it again if it is needed; some items may already be done."},
	"partition_stopped": {503, "Partition stopped because the store lost accepted work", "The store lost accepted work of a " +
		"partition. The partition is stopped until the store is restored or the loss is accepted. The id is not in the " +
		"store, or a bulk action cannot be accepted: all partitions are stopped, or the Idempotency-Key may be lost.",
		"Ask the operator of the server; /readyz says which commits are missing."},
	"expired": {410, "Removed at the end of its retention", "The bulk action was removed at the end of its retention. The " +
		"detail has the dates.", "Ask for a longer keep_for next time."},
	"sealed":     {409, "Already sealed", "The bulk action is complete: no items can be added.", "Create another bulk action."},
	"not_sealed": {409, "Not sealed yet", "The bulk action is still a draft.", "Seal it first."},
	"wrong_state": {409, "Not possible in this state", "The state of the bulk action, or a change that is under way, does not allow " +
		"this. The detail names it.", "Wait, or bring it into the required state first."},
	"already_ended": {409, "Already ended", "The bulk action has ended. The detail says how and when.",
		"It cannot be paused, changed or cancelled any more. Its failed and cancelled items can be retried."},
	"count_mismatch": {409, "Unexpected number of items", "The number of items differs from the number that the seal expects.",
		"Add the missing items, or seal with the actual number."},
	"no_backup": {409, "Store cannot be copied while nodes run", "Several nodes share the store of the server, and it has no view of " +
		"one moment.", "Stop all nodes and run weir backup with their configuration, or use the backups of Redis."},
	"exists": {409, "Already exists", "The name is taken.", "Choose another name."},
	"changed_meanwhile": {412, "Changed since it was read", "It was changed since it was read.",
		"Read it again and repeat the change."},
	"in_use": {409, "Set by the program or the configuration file", "It comes from the program or the configuration file.",
		"The fix says where to change it."},
	"closed": {422, "", "It has ended and accepts nothing more.", "Start a new one."},
	// Access.
	"bad_ticket": {401, "Ticket is not valid", "The ticket of an EventSource has expired, is of another server, or is for another bulk action.",
		"Create another one with POST …/events-ticket."},
	"no_credentials": {401, "API key required", "The request has no API key.", "Send the header Authorization: Bearer wk_…"},
	"keys_not_used": {409, "API keys are not used", "The server is part of a program that has a login of its own: API keys would open nothing.",
		"Use the login of the program."},
	"bad_credentials": {401, "Invalid API key", "The API key is not valid: wrong, revoked or expired.",
		"Check it, or request a new one."},
	"missing_scope": {403, "API key lacks a scope", "The API key lacks a scope. The detail names it.",
		"Request a key with the scope."},
	"unknown_host": {421, "Unknown host", "The header Host names a host that the server does not know as its own. This " +
		"stops web pages that make their own name resolve to the server (DNS rebinding).",
		"Use localhost, 127.0.0.1 or the address of the server, or add the name to the setting allowed_hosts."},
	"cross_site": {403, "Cross-site request", "A browser sent this from another site.",
		"Use the server's own pages, or add the origin of the page to the setting allowed_origins."},
	"key_in_url": {400, "API key in the URL", "The URL contains an API key, and URLs end up in logs.",
		"Send it in the header Authorization, and revoke this one."},
	// Too much, or not now.
	"too_many_requests": {429, "Too many requests", "The key has made too many requests, or has too many uploads at once.",
		"Wait for the time in Retry-After. The header RateLimit shows the remaining requests."},
	"backlog_full": {429, "Backlog is full", "The limit of unfinished items is reached. Reading is not affected.",
		"Wait for the time in Retry-After."},
	"tenant_quota": {429, "Tenant's backlog is full", "The tenant has reached its limit of unfinished items. Reading and " +
		"other tenants are not affected.", "Wait, or request a larger max_pending."},
	"store_unavailable": {503, "Store unavailable", "The store does not respond. Accepted work is safe; this request may " +
		"have taken effect, unless the detail says that nothing was done.", "Repeat it with the same Idempotency-Key."},
	"overloaded": {503, "Out of memory for request bodies", "Other requests use all the memory allowed for bodies " +
		"(limits.memory). Nothing was changed.",
		"Repeat the request after the time in Retry-After. If it happens often, send smaller bodies or raise limits.memory."},
	"draining": {503, "Server is stopping", "This server is stopping. Reading is still possible.",
		"Retry: another server takes over."},
	"storage_low": {507, "Storage is low", "The store is low on space. The server refuses new work; it continues accepted " +
		"work and answers reads.",
		"Free space, or delete what is no longer needed. The embedded store keeps limits.min_free of its disk free; the log " +
			"of the server says how much is free and how much is required."},
	"damaged": {500, "Stored data is damaged", "Parts of it are missing from the store or cannot be read.",
		"Ask the operator of the server. The log names the missing parts, and `weir doctor` checks for more."},
	"internal": {500, "Internal error", "An unexpected error.",
		"Retry. If it persists, give the operator of the server the request id."},
}
