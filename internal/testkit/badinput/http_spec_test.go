package badinput

import (
	"fmt"
	"strings"
	"time"
)

// lastSunday returns the last Sunday of a month of next year: when clocks change in Europe.
func lastSunday(m time.Month) string {
	d := time.Date(time.Now().Year()+1, m+1, 0, 0, 0, 0, 0, time.UTC)
	return d.AddDate(0, 0, -int(d.Weekday())).Format(time.DateOnly)
}

func startAt(at, zone string) ask {
	return create(fmt.Sprintf(`{%s,"start_at":%q,"zone":%q}`, steps, at, zone))
}

func scheduled(cron, zone string) ask {
	return asks("POST", "/v1/schedules", fmt.Sprintf(`{"name":"nightly","cron":%q,"zone":%q,"bulk_action":{%s,"source":{"segment":{"url":"https://push.example.com/u"}}}}`, cron, zone, steps))
}

func putAction(more string) ask {
	return as("admin", "PUT", "/v1/actions/mine", `{"url":"https://8.8.8.8/"`+more+`}`)
}

func tellAt(url string) ask {
	return create(fmt.Sprintf(`{%s,"callback":{"url":%q,"secret":%q}}`, steps, url, planted))
}

// specRows are faults of what is asked for.
func specRows() []row {
	chain := strings.Repeat(`{"action":"award"},`, 17)
	year := fmt.Sprint(time.Now().Year() + 1)
	return []row{
		{48, "an unknown action", create(`{"steps":[{"action":"send_mesage"}]}`), 422, "unknown_action", `steps[0].action: unknown action "send_mesage"|did you mean send-message?|known: award,`},
		{49, "no steps", create(`{"steps":[]}`), 422, "no_steps", "steps: is empty"},
		{49, "steps left out", create(`{}`), 422, "missing_field", "steps"},
		{50, "17 steps", create(`{"steps":[` + strings.TrimSuffix(chain, ",") + `]}`), 422, "too_many_steps", "16"},
		{51, "a step twice", create(`{"steps":[{"action":"award"},{"action":"award"}]}`), 422, "duplicate_step", `steps[1].id: "award" is used twice|id of its own`},
		{52, "an action that is switched off", create(`{"steps":[{"action":"off"}]}`), 422, "action_disabled", `"off" is disabled`},
		{53, "an action of another tenant", without("theirs?", create(`{"steps":[{"action":"theirs"}]}`)), 422, "unknown_action", `unknown action "theirs"`},
		{54, "no tenant", as("two", "POST", "/v1/bulk-actions", `{`+steps+`}`), 422, "missing_field", "tenant: the key has several tenants|say which"},
		{54, "a tenant of others", create(`{` + steps + `,"tenant":"other"}`), 422, "bad_value", "tenant: the key is not for this tenant"},
		{55, "a tenant with control characters", as("admin", "POST", "/v1/bulk-actions", `{`+steps+`,"tenant":"a\u0007b"}`), 422, "bad_text", "tenant: has a control character|byte 1"},
		{55, "a tenant of 200 bytes", as("admin", "POST", "/v1/bulk-actions", `{`+steps+`,"tenant":"`+strings.Repeat("x", 200)+`"}`), 422, "out_of_range", "tenant|128"},
		{56, "the tier urgent", create(`{` + steps + `,"tier":"urgent"}`), 422, "bad_value", "tier|critical|high|default|low"},
		{57, "the weight 0", as("admin", "PUT", "/v1/tenants/acme", `{"weight":0}`), 422, "out_of_range", "weight|0.001"},
		{57, "a negative weight", as("admin", "PUT", "/v1/tenants/acme", `{"weight":-1}`), 422, "out_of_range", "weight|0.001"},
		{57, "a weight that is not a number", as("admin", "PUT", "/v1/tenants/acme", `{"weight":NaN}`), 400, "bad_json", "inside weight"},
		{57, "a weight of a billion", as("admin", "PUT", "/v1/tenants/acme", `{"weight":1e9}`), 422, "out_of_range", "weight|1000"},
		{58, "a start in the past", startAt("2020-01-01T00:00:00Z", ""), 422, "bad_time", "start_at: 2020-01-01T00:00:00Z is in the past"},
		{59, "a start without a zone", startAt(year+"-06-01T12:00", ""), 422, "bad_time", "neither an offset nor a zone|Europe/Berlin"},
		{60, "a start in 2190", startAt("2190-01-01T00:00:00Z", ""), 422, "bad_time", "more than 10 years away"},
		{61, "a time that the clock skips", startAt(lastSunday(time.March)+"T02:30", "Europe/Berlin"), 422, "bad_time", lastSunday(time.March) + "T02:30 does not exist in Europe/Berlin; next is 03:00"},
		{61, "a time that comes twice", startAt(lastSunday(time.October)+"T02:30", "Europe/Berlin"), 201, good, "occurs twice in Europe/Berlin; the first one is used"},
		{62, "minute 61", scheduled("61 * * * *", "UTC"), 422, "bad_time", "cron|61"},
		{63, "the 30th of February", scheduled("0 0 30 2 *", "UTC"), 422, "bad_time", "cron|never"},
		{64, "an unknown zone", startAt(year+"-06-01T12:00", "Europe/Berlinn"), 422, "bad_time", "zone|Berlinn"},
		{64, "an unknown zone of a schedule", scheduled("0 9 * * 1", "Mars/Base"), 422, "bad_time", "zone|Mars/Base"},
		{65, "a timeout of nothing", putAction(`,"timeout":"0s"`), 422, "out_of_range", "timeout|24h"},
		{65, "a negative timeout", putAction(`,"timeout":"-5s"`), 422, "out_of_range", "timeout|24h"},
		{65, "a timeout of ten days", putAction(`,"timeout":"240h"`), 422, "out_of_range", "timeout|24h"},
		{66, "a million retries", putAction(`,"retry":{"max_attempts":1000000}`), 422, "out_of_range", "retry.max_attempts|250"},
		{67, "a cap below the base", putAction(`,"retry":{"base":"10s","cap":"1s"}`), 422, "out_of_range", "retry|base 10s|cap 1s"},
		{68, "min_items without a failure rate", create(`{` + steps + `,"stop_on":{"min_items":50}}`), 422, "bad_value", "stop_on.min_items|min_items without failure_rate never stops anything|add failure_rate"},
		{68, "a failure rate of 1.2", create(`{` + steps + `,"stop_on":{"failure_rate":1.2}}`), 422, "out_of_range", "stop_on.failure_rate|write 1 or less"},
		{69, "a deadline of the year 9999", create(`{` + steps + `,"deadline":"9999-12-31T23:59:59Z"}`), 422, "bad_time", "deadline|ten years|leave it out"},
		{69, "a deadline before the start", create(`{` + steps + `,"start_at":"` + year + `-06-02T00:00:00Z","deadline":"` + year + `-06-01T00:00:00Z"}`), 422, "out_of_range", "deadline: is not after start_at"},
		{70, "ftp", tellAt("ftp://push.example.com/"), 422, "bad_url", "callback.url: scheme \"ftp\"|use http or https"},
		{70, "a file", tellAt("file:///etc/passwd"), 422, "bad_url", "scheme \"file\""},
		{70, "no host", tellAt("https:///x"), 422, "bad_url", "has no host"},
		{70, "a password", without("hunter2", tellAt("https://me:hunter2@push.example.com/")), 422, "bad_url", "holds a user name or password|header"},
		{70, "port 0", tellAt("https://push.example.com:0/"), 422, "bad_url", "port 0"},
		{70, "port 22", tellAt("https://push.example.com:22/"), 422, "bad_url", "port 22"},
		{70, "a fragment", tellAt("https://push.example.com/#x"), 422, "bad_url", "fragment"},
		{71, "a private address", tellAt("http://10.0.0.5/"), 422, "address_not_allowed", "10.0.0.5 is private|an operator can allow it with egress.allow"},
		{71, "loopback", tellAt("http://127.0.0.1/"), 422, "address_not_allowed", "127.0.0.1 is loopback"},
		{71, "the metadata address", tellAt("http://169.254.169.254/"), 422, "address_not_allowed", "169.254.169.254"},
		{71, "IPv4 in IPv6", tellAt("http://[::ffff:10.0.0.5]/"), 422, "address_not_allowed", ""},
		{71, "NAT64", tellAt("http://[64:ff9b::a00:5]/"), 422, "address_not_allowed", ""},
		{71, "a decimal address", tellAt("http://167772165/"), 422, "address_not_allowed", "10.0.0.5"},
		{71, "localhost", tellAt("http://localhost/"), 422, "address_not_allowed", "loopback"},
		{71, "an action at a private address", as("admin", "PUT", "/v1/actions/mine", `{"url":"http://10.0.0.5/"}`), 422, "address_not_allowed", "url: 10.0.0.5 is private"},
		{72, "a name that leads to a private address", without("10.0.0.5", tellAt("https://inside.example.net/")), 422, "address_not_allowed", "inside.example.net leads to an address that is not allowed"},
		{73, "a URL of 3,000 characters", tellAt("https://push.example.com/" + strings.Repeat("x", 3000)), 422, "bad_url", "callback.url|2048"},
		{73, "an action's URL of 3,000 characters", as("admin", "PUT", "/v1/actions/mine", `{"url":"https://push.example.com/`+strings.Repeat("x", 3000)+`"}`), 422, "bad_url", "url|2048"},
		{73, "a name that looks like another", tellAt("https://xn--pple-43d.com/"), 422, "bad_url", "names that look like others are refused"},
		{74, "an empty idempotency key", create(`{`+steps+`}`, "Idempotency-Key", " "), 400, "bad_idempotency_key", "Idempotency-Key is empty"},
		{74, "an idempotency key of 256 characters", create(`{`+steps+`}`, "Idempotency-Key", strings.Repeat("k", 256)), 400, "bad_idempotency_key", "256 characters, more than 255"},
		{74, "an idempotency key that is not ASCII", create(`{`+steps+`}`, "Idempotency-Key", "clé"), 400, "bad_idempotency_key", "not printable ASCII, at position 3"},
		{74, "a bad idempotency key of an append", ndjson(`{"id":"k"}`, "Idempotency-Key", strings.Repeat("k", 256)), 400, "bad_idempotency_key", ""},
		{75, "an idempotency key of another request", create(`{`+steps+`,"name":"two","priority":3}`, "Idempotency-Key", "used"), 409, "idempotency_conflict", "name and priority differ|another key"},
		{75, "an idempotency key of another route", asks("POST", "/v1/bulk-actions/{draft}/cancel", `{}`, "Idempotency-Key", "used"), 409, "idempotency_conflict", "bulk_action.create"},
		{75, "a refused request with a key leaves the key free", create(`{"steps":[]}`, "Idempotency-Key", "free"), 422, "no_steps", ""},
	}
}

// without wants that something is not told.
func without(text string, a ask) ask {
	return func(w *world) reply {
		w.t.Helper()
		r := a(w)
		if strings.Contains(string(r.raw), text) {
			w.t.Errorf("the answer tells %q: %s", text, r.raw)
		}
		return r
	}
}
