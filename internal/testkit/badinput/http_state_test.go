package badinput

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// stateRows are requests that are right in themselves: about what is not there, not in that state, or not for the caller.
func stateRows() []row {
	const bulk = "/v1/bulk-actions"
	return []row{
		{77, "an unknown id", likeUnknown(asks("GET", bulk+"/ba_01m7g4xh2s000vg3ay5py8sbpf", "")), 404, "not_found", "check the id"},
		{77, "an unknown id in a command", likeUnknown(asks("POST", bulk+"/ba_01m7g4xh2s000vg3ay5py8sbpf/pause", `{}`)), 404, "not_found", ""},
		{77, "items for an unknown id", asks("POST", bulk+"/ba_01m7g4xh2s000vg3ay5py8sbpf/items", "id\na\n", "Content-Type", "text/csv"), 404, "not_found", ""},
		{78, "a malformed id", likeUnknown(asks("GET", bulk+"/nonsense", "")), 404, "not_found", ""},
		{78, "an id of 1,000 characters", likeUnknown(asks("GET", bulk+"/"+strings.Repeat("x", 1000), "")), 404, "not_found", ""},
		{79, "another tenant's id", likeUnknown(asks("GET", bulk+"/{foreign}", "")), 404, "not_found", ""},
		{79, "another tenant's id in a command", likeUnknown(asks("POST", bulk+"/{foreign}/cancel", `{}`)), 404, "not_found", ""},
		{79, "items for another tenant's id", asks("POST", bulk+"/{foreign}/items", "id\na\n", "Content-Type", "text/csv"), 404, "not_found", ""},
		{81, "cancelling what has ended", asks("POST", bulk+"/{ended}/cancel", `{}`), 409, "already_ended", "completed"},
		{81, "cancelling twice", asks("POST", bulk+"/{cancelled}/cancel", `{}`), 200, good, `"state":"cancelled"`},
		// The promise of case 82 is a conflict: of the codes named with it, none is about something that has not ended.
		{82, "resuming what runs", asks("POST", bulk+"/{running}/resume", `{}`), 409, "wrong_state", "is running|paused or stopped"},
		{83, "items after the seal", asks("POST", bulk+"/{sealed}/items", "id\nc\n", "Content-Type", "text/csv"), 409, "sealed", "no items can be added"},
		{84, "sealing twice with another count", asks("POST", bulk+"/{sealed}/seal", `{"expected_items":7}`), 409, "count_mismatch", "has 2 items, expected 7"},
		{84, "sealing twice with the same count", asks("POST", bulk+"/{sealed}/seal", `{"expected_items":2}`), 200, good, `"state":"sealed"`},
		{84, "sealing a draft with another count", asks("POST", bulk+"/{empty}/seal", `{"expected_items":7}`), 409, "count_mismatch", "has 0 items, expected 7"},
		{85, "a forged cursor", asks("GET", bulk+"?cursor=abc", ""), 400, "bad_cursor", "begin without a cursor"},
		{85, "a changed cursor", withCursor(func(c string) string { return "limit=1&cursor=" + changed(c) }), 400, "bad_cursor", ""},
		{85, "a cursor of another query", withCursor(func(c string) string { return "limit=1&state=draft&cursor=" + c }), 400, "bad_cursor", "not one of this list with these filters"},
		{86, "a limit of 0", asks("GET", bulk+"?limit=0", ""), 400, "out_of_range", "limit|write 1 or more"},
		{86, "a limit of a billion", asks("GET", bulk+"?limit=1000000000", ""), 400, "out_of_range", "limit|write 1000 or less"},
		{86, "a limit that is not a number", asks("GET", bulk+"?limit=ten", ""), 400, "out_of_range", "limit"},
		{87, "a filter by an unknown state", asks("GET", bulk+"?state=bogus", ""), 400, "bad_filter", "state|draft"},
		{87, "an unknown order", asks("GET", bulk+"?sort=colour", ""), 400, "bad_filter", "sort|lists cannot be sorted"},
		{87, "an unknown order of another list", as("admin", "GET", "/v1/audit?sort=colour", ""), 400, "bad_filter", "sort"},
		{87, "a filter that does not compile", asks("POST", bulk+"/{ended}/retry", `{"filter":"item.country = 'DE'"}`), 400, "bad_filter", "filter"},
		{88, "no key", as("", "GET", bulk, ""), 401, "no_credentials", "Authorization: Bearer wk_"},
		{89, "a wrong key", likeBadKey("wk_" + strings.Repeat("x", 50)), 401, "bad_credentials", ""},
		{90, "a revoked key", as("revoked", "GET", bulk, ""), 401, "bad_credentials", "the API key is not valid"},
		{90, "an expired key", whenExpired, 401, "bad_credentials", "the API key is not valid"},
		{91, "a missing scope", as("reader", "POST", bulk, `{`+steps+`}`), 403, "missing_scope", "submit"},
		{92, "a key in the URL", keyInURL, 400, "key_in_url", "Authorization|revoke"},
	}
}

var unknown = regexp.MustCompile("^bulk action [^ ]+ does not exist, or the API key has no access to it$")

// likeUnknown wants the same words for all that is not there for the caller, but for the id that the caller sent.
func likeUnknown(a ask) ask {
	return func(w *world) reply {
		w.t.Helper()
		r := a(w)
		if !unknown.MatchString(r.problem.Detail) || len(r.problem.Errors) > 0 {
			w.t.Errorf("the answer tells what is there: %s", r.raw)
		}
		return r
	}
}

func likeBadKey(key string) ask {
	return func(w *world) reply {
		return w.call("", "GET", "/v1/bulk-actions", "", "Authorization", "Bearer "+key)
	}
}

// whenExpired asks with a key until its time is over.
func whenExpired(w *world) reply {
	w.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for {
		r := w.call("expired", "GET", "/v1/bulk-actions", "")
		if r.status != 200 {
			return r
		}
		select {
		case <-tick.C:
		case <-late:
			w.t.Fatal("the key does not expire")
		}
	}
}

func keyInURL(w *world) reply {
	w.t.Helper()
	r := w.call("acme", "GET", "/v1/bulk-actions?name="+url.QueryEscape(w.keys["acme"]), "")
	if strings.Contains(string(r.raw), w.keys["acme"]) {
		w.t.Error("the key is told back")
	}
	return r
}

// withCursor lists with what was made of a good cursor.
func withCursor(query func(cursor string) string) ask {
	return func(w *world) reply {
		w.t.Helper()
		first := w.call("acme", "GET", "/v1/bulk-actions?limit=1", "")
		var page api.Page[api.BulkAction]
		must(w.t, json.Unmarshal(first.raw, &page))
		if page.NextCursor == "" {
			w.t.Fatalf("no cursor in %s", first.raw)
		}
		return w.call("acme", "GET", "/v1/bulk-actions?"+query(page.NextCursor), "")
	}
}

// httpRows returns all cases that one request shows.
func httpRows() []row {
	var all []row
	for _, part := range [][]row{bodyRows(), itemRows(), specRows(), stateRows()} {
		all = append(all, part...)
	}
	return all
}

// changed returns a cursor with another last letter.
func changed(cursor string) string {
	rest, had := strings.CutSuffix(cursor, "A")
	if had {
		return rest + "Q"
	}
	return cursor[:len(cursor)-1] + "A"
}
