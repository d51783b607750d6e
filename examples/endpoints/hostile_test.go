package endpoints

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/weirtest"
)

const good = `{"action":"award","items":[{"id":"u1","idempotency_key":"good","data":{"user_id":"u1"}}]}`

// hostile is the table of requests that an endpoint has to survive, with the statuses that are right. 0 is a closed
// connection.
var hostile = []struct {
	name string
	call
	want []int
}{
	{"no signature", call{body: good, edit: drop("Webhook-Signature")}, []int{401}},
	{"no timestamp", call{body: good, edit: drop("Webhook-Timestamp")}, []int{401}},
	{"no id", call{body: good, edit: drop("Webhook-Id")}, []int{401}},
	{"an empty signature", call{body: good, edit: set("Webhook-Signature", "")}, []int{401}},
	{"a signature of 32 zeros", call{body: good, edit: set("Webhook-Signature", "v1,"+strings.Repeat("A", 43)+"=")}, []int{401}},
	{"a signature that is cut off", call{body: good, edit: shorten}, []int{401}},
	{"a signature that is not ASCII", call{body: good, edit: set("Webhook-Signature", "v1,"+strings.Repeat("é", 22))}, []int{400, 401}},
	{"10,000 wrong signatures", call{body: good, edit: set("Webhook-Signature", strings.Repeat("v1, ", 2_000))}, []int{401}},
	{"the timestamp of another day", call{body: good, edit: set("Webhook-Timestamp", "1700000000")}, []int{401}},
	{"a timestamp that is NaN", call{body: good, edit: set("Webhook-Timestamp", "NaN")}, []int{401}},
	{"a timestamp of 5,000 digits", call{body: good, edit: set("Webhook-Timestamp", strings.Repeat("9", 5_000))}, []int{401}},
	{"a negative timestamp", call{body: good, edit: set("Webhook-Timestamp", "-1")}, []int{401}},
	{"another method", call{method: http.MethodGet}, []int{405}},
	{"a method that changes", call{method: http.MethodPut, body: good}, []int{405}},
	{"HEAD", call{method: http.MethodHead}, []int{405}},
	{"no body", call{}, []int{400}},
	{"text", call{body: "award everyone"}, []int{400}},
	{"JSON that ends early", call{body: good[:len(good)-2]}, []int{400}},
	{"JSON and more", call{body: good + "{}"}, []int{400}},
	{"bytes that are not UTF-8", call{body: strings.Replace(good, "award", "aw\xff\xc0rd", 1)}, []int{400}},
	{"null", call{body: "null"}, []int{400}},
	{"an array", call{body: "[" + good + "]"}, []int{400}},
	{"a number", call{body: "1e400"}, []int{400}},
	{"no items", call{body: `{"action":"award"}`}, []int{400}},
	{"items that are an object", call{body: `{"items":{"0":{"id":"u1","idempotency_key":"k"}}}`}, []int{400}},
	{"items that are text", call{body: `{"items":"u1"}`}, []int{400}},
	{"an item that is null", call{body: `{"items":[null]}`}, []int{400}},
	{"an item without an id", call{body: `{"items":[{"idempotency_key":"k"}]}`}, []int{400}},
	{"an item without a key", call{body: `{"items":[{"id":"u1"}]}`}, []int{400}},
	{"an empty key", call{body: `{"items":[{"id":"u1","idempotency_key":""}]}`}, []int{400}},
	{"an id that is a number", call{body: `{"items":[{"id":7,"idempotency_key":"k"}]}`}, []int{400}},
	{"a key of 1 MB", call{body: `{"items":[{"id":"u1","idempotency_key":"` + strings.Repeat("k", 1<<20) + `"}]}`}, []int{400}},
	{"a member called __proto__", call{body: `{"__proto__":{"items":[]}}`}, []int{400}},
	{"100,000 arrays in each other", call{body: strings.Repeat("[", 100_000)}, []int{400}},
	{"data with 100,000 objects in each other", call{body: `{"items":[{"id":"u1","idempotency_key":"deep","data":` +
		strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) + "}]}"}, []int{200, 400}},
	{"numbers of any size", call{body: `{"items":[{"id":"u1","idempotency_key":"n","data":{"a":1e999999,"b":-0.0,"c":` +
		strings.Repeat("9", 10_000) + `}}]}`}, []int{200, 400}},
	{"half a surrogate", call{body: `{"items":[{"id":"\ud800","idempotency_key":"\udc00","data":{}}]}`}, []int{200, 400}},
	{"9 MiB", call{body: strings.Repeat(" ", 9<<20)}, []int{0, 413}},
}

func drop(name string) func(http.Header) { return func(h http.Header) { h.Del(name) } }

func set(name, value string) func(http.Header) { return func(h http.Header) { h.Set(name, value) } }

func shorten(h http.Header) { h.Set("Webhook-Signature", h.Get("Webhook-Signature")[:20]) }

func TestEndpointsSurviveHostileRequests(t *testing.T) {
	for _, s := range installed(t) {
		t.Run(s.language, func(t *testing.T) {
			e, _ := start(t, s, t.TempDir())
			for _, tt := range hostile {
				if status, h, body := e.send(t, tt.call); !slices.Contains(tt.want, status) || status == http.StatusMethodNotAllowed && h.Get("Allow") != "POST" {
					t.Errorf("%s: status %d, %v: %.200s; want %v", tt.name, status, h, body, tt.want)
				}
			}
			if status, _, body := e.send(t, call{body: good, url: strings.Replace(e.url, "/award", "/punish", 1)}); status != http.StatusNotFound {
				t.Errorf("an unknown action: status %d: %.200s; want 404", status, body)
			}
			for name, at := range map[string]time.Time{"old": time.Now().Add(-6 * time.Minute), "of the future": time.Now().Add(6 * time.Minute)} {
				if status, _, _ := e.send(t, call{body: good, edit: replace(e.sign(t, at, good))}); status != http.StatusUnauthorized {
					t.Errorf("a call that is %s: status %d, want 401", name, status)
				}
			}
			if status, _, _ := e.send(t, call{body: good, edit: replace(e.sign(t, time.Now(), good+" "))}); status != http.StatusUnauthorized {
				t.Errorf("the signature of another body: status %d, want 401", status)
			}
			two := func(h http.Header) { h.Set("Webhook-Signature", "v1,AAAA "+h.Get("Webhook-Signature")) }
			if status, _, body := e.send(t, call{body: good, edit: two}); status != http.StatusOK {
				t.Errorf("the second signature fits: status %d: %s", status, body)
			}
			e.checkRaw(t)
			e.results(t, good, "u1") // it still works
		})
	}
}

func replace(by http.Header) func(http.Header) {
	return func(h http.Header) {
		for name := range by {
			h.Set(name, by.Get(name))
		}
	}
}

func TestEndpointsDoEachItemOnce(t *testing.T) {
	for _, s := range installed(t) {
		t.Run(s.language, func(t *testing.T) {
			store := t.TempDir()
			e, stop := start(t, s, store)
			weirtest.HTTPCheck{URL: e.url, Item: json.RawMessage(`{"user_id":"u1"}`), Secret: secret}.Run(t)

			one := item("a", "k-1", `{}`)
			first := e.results(t, batch(one), "a")[0]
			if again := e.results(t, batch(item("b", "k-2", `{}`), one), "b", "a")[1]; again != first || first.Status != "done" || first.Output.Reward == "" {
				t.Errorf("a repeated key: %+v, at first %+v", again, first)
			}
			twice := e.results(t, batch(item("x", "k-3", `{}`), item("x", "k-4", `{}`), item("y", "k-3", `{}`)), "x", "x", "y")
			if twice[0].Output == twice[1].Output || twice[0].Output != twice[2].Output {
				t.Errorf("an id twice, and a key twice: %+v; want one reward for each key", twice)
			}
			e.results(t, strings.Replace(batch(item("last", "k-5", `{}`)), "{", `{"items":[],`, 1), "last") // a repeated member
			mixed := e.results(t, batch(item("c", "k-6", `{"closed":true}`), item("r", "k-7", `{"busy":true}`), item("w", "k-8", `[1]`)), "c", "r", "w")
			if mixed[0].Status != "failed" || mixed[0].Code != "closed" || mixed[1].Status != "retry" || mixed[1].RetryAfter == "" || mixed[2].Code != "bad_data" {
				t.Errorf("failed, busy and wrong data: %+v", mixed)
			}
			if later := e.results(t, batch(item("r", "k-7", `{}`)), "r")[0]; later.Status != "done" {
				t.Errorf("the next attempt of a busy item: %+v, want done", later)
			}
			dry := strings.Replace(batch(item("d", "k-9", `{}`)), "{", `{"dry_run":true,`, 1)
			if trial, real := e.results(t, dry, "d")[0], e.results(t, batch(item("d", "k-9", `{}`)), "d")[0]; trial.Output == real.Output {
				t.Errorf("a trial does the work: %+v, then %+v", trial, real)
			}
			unicode := []string{"žluťoučký", "用户", "🙂👩‍👩‍👧", "e\u0301", "\u202etxt", "a\u0000b", `"\/'`, "</script>", " ", ""}
			var odd []string
			for i, id := range unicode {
				odd = append(odd, item(id, "unicode-"+strconv.Itoa(i)+id, `{}`))
			}
			e.results(t, batch(odd...), unicode...)
			e.checkMany(t)
			e.checkAtOnce(t)

			stop()
			if s.forgets {
				return
			}
			e, _ = start(t, s, store)
			if again := e.results(t, batch(one), "a")[0]; again != first {
				t.Errorf("a repeated key after a restart: %+v, at first %+v", again, first)
			}
		})
	}
}

// checkMany sends 1,000 items twice.
func (e *endpoint) checkMany(t *testing.T) {
	t.Helper()
	var ids, items []string
	for i := range 1_000 {
		ids = append(ids, fmt.Sprintf("many-%d", i))
		items = append(items, item(ids[i], "key-"+ids[i], `{"user_id":"`+ids[i]+`"}`))
	}
	first := e.results(t, batch(items...), ids...)
	if again := e.results(t, batch(items...), ids...); !slices.Equal(again, first) {
		t.Error("1,000 items again have other results")
	}
}

// checkAtOnce sends the same keys in several calls at a time.
func (e *endpoint) checkAtOnce(t *testing.T) {
	t.Helper()
	got := make([]string, 6)
	var items []string
	for i := range 500 {
		items = append(items, item("same", "at-once-"+strconv.Itoa(i), `{}`))
	}
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			_, _, body := e.send(t, call{body: batch(items...)})
			got[i] = string(body)
		})
	}
	all.Wait()
	if slices.Sort(got); got[0] != got[len(got)-1] || !strings.Contains(got[0], "done") {
		t.Errorf("the same keys in %d calls at a time: %.200q, want one result for each", len(got), got)
	}
}

func TestEndpointsRefuseMoreThanTheyCanDo(t *testing.T) {
	for _, s := range installed(t) {
		t.Run(s.language, func(t *testing.T) {
			e, _ := start(t, s, t.TempDir(), "MAX_CALLS=0")
			if status, h, body := e.send(t, call{body: good}); status != http.StatusTooManyRequests || h.Get("Retry-After") != "1" {
				t.Errorf("status %d, Retry-After %q: %s; want 429 and 1", status, h.Get("Retry-After"), body)
			}
			if status, _, _ := e.send(t, call{body: good, edit: drop("Webhook-Signature")}); status != http.StatusUnauthorized {
				t.Errorf("without a signature: status %d, want 401", status)
			}
		})
	}
}

func item(id, key, data string) string {
	raw, _ := json.Marshal(map[string]any{"id": id, "idempotency_key": key, "data": json.RawMessage(data), "new_member": 1}) // valid JSON
	return string(raw)
}

func batch(items ...string) string {
	return `{"action":"award","items":[` + strings.Join(items, ",") + "]}"
}
