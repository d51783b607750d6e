package feed_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/service/vault"
)

// list serves items in one of the shapes that a segment may have.
func list(shape string, items []weir.RawItem) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at, limit := position(r)
		end := min(at+limit, len(items))
		next, link := strconv.Itoa(end), fmt.Sprintf("/users?limit=%d&cursor=%d", limit, end)
		if end == len(items) {
			next, link = "", ""
		}
		docs := make([]json.RawMessage, 0, limit)
		for _, it := range items[at:end] {
			docs = append(docs, it.Value)
		}
		switch shape {
		case "cursor":
			answer(w, map[string]any{"items": docs, "next_cursor": next})
		case "next url":
			answer(w, map[string]any{"data": docs, "next": link})
		case "array and link":
			if link != "" {
				w.Header().Set("Link", fmt.Sprintf(`</users>; rel="first", <%s>; rel="next"`, link))
			}
			answer(w, docs)
		case "ndjson":
			w.Header().Set("Content-Type", "application/x-ndjson")
			if next != "" {
				w.Header().Set("Next-Cursor", next)
			}
			for _, d := range docs {
				fmt.Fprintf(w, "%s\n", d)
			}
		}
	}
}

// position reads page size and cursor from query or body.
func position(r *http.Request) (at, limit int) {
	if r.Method == http.MethodPost {
		var body struct {
			Limit  int    `json:"limit"`
			Cursor string `json:"cursor"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		at, _ = strconv.Atoi(body.Cursor)
		return at, body.Limit
	}
	at, _ = strconv.Atoi(r.URL.Query().Get("cursor"))
	limit, _ = strconv.Atoi(r.URL.Query().Get("limit"))
	return at, limit
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func segmentOf(t *testing.T, h http.HandlerFunc) *rig {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return &rig{t: t, spec: feed.Spec{Segment: &feed.Segment{URL: srv.URL + "/users"}}}
}

func TestASegmentIsReadExactlyOnceThroughCrashes(t *testing.T) {
	all := users(many())
	for shape, want := range map[string][]weir.RawItem{"cursor": all, "next url": all[:1500], "array and link": all[:1500], "ndjson": all[:1500]} {
		t.Run(shape, func(t *testing.T) {
			r := segmentOf(t, list(shape, want))
			r.spec.PageSize = len(want)/12 + 1
			r.survives(want, int64(r.spec.PageSize)*60)
		})
	}
	t.Run("by POST", func(t *testing.T) {
		want := all[:1500]
		r := segmentOf(t, list("cursor", want))
		r.spec.PageSize = 100
		r.spec.Segment.Method, r.spec.Segment.Body = "POST", json.RawMessage(`{"country":"DE"}`)
		got, _ := r.readOn("", true)
		sameItems(t, "by POST", got, want)
	})
}

func TestASegmentKeepsDocumentsAsTheyAre(t *testing.T) {
	doc := `{"n":12345678901234567890.10, "uid" : 18446744073709551615, "t":"a\u00e9<"}`
	r := segmentOf(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"items":[%s],"next_cursor":null}`, doc) })
	r.spec.ID = "uid"
	got, _ := r.readOn("", false)
	sameItems(t, "odd numbers", got, []weir.RawItem{{ID: "18446744073709551615", Value: json.RawMessage(doc)}})
}

func TestASegmentIsAskedWithTheSecretsOfItsConnection(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	r := segmentOf(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := hook.Verify(body, r.Header); err != nil {
			t.Errorf("signature: %v", err)
		}
		if got := r.Header.Get("Authorization") + r.Header.Get("X-Team"); got != "Bearer tokenblue" {
			t.Errorf("headers = %q, want those of the connection", got)
		}
		if r.URL.Path != "/v1/users" || r.URL.RawQuery != "active=1&size=7" {
			t.Errorf("asked %s, want it below the connection's address, with the page size", r.URL)
		}
		answer(w, map[string]any{"items": []any{}})
	})
	r.conn = feed.Connection{
		Kind: feed.KindHTTP, Address: strings.TrimSuffix(r.spec.Segment.URL, "/users") + "/v1",
		Token: vault.NewSecret("token"), Signing: vault.NewSecret(secret), Headers: map[string]feed.Secret{"X-Team": vault.NewSecret("blue")},
	}
	r.spec.PageSize = 7
	r.spec.Segment = &feed.Segment{Connection: "there", URL: "users?active=1", LimitParam: "size"}
	if p, err := r.first(); err != nil || !p.Last {
		t.Errorf("page = %+v, %v, want an empty last one", p, err)
	}
}

func TestRefusalsOfASegment(t *testing.T) {
	for _, tt := range []struct {
		status int
		header string
		code   string // empty: transient
		wait   time.Duration
	}{
		{http.StatusNotFound, "", feed.CodeNotFound, 0},
		{http.StatusForbidden, "", feed.CodeRefused, 0},
		{http.StatusFound, "", feed.CodeRefused, 0},
		{http.StatusBadRequest, "", feed.CodeRefused, 0},
		{http.StatusTooManyRequests, "17", "", 17 * time.Second},
		{http.StatusServiceUnavailable, "99999999", "", time.Hour},
		{http.StatusBadGateway, "", "", 0},
		{http.StatusInternalServerError, "soon", "", 0},
	} {
		t.Run(http.StatusText(tt.status), func(t *testing.T) {
			r := segmentOf(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
				w.Header().Set("Retry-After", tt.header)
				w.WriteHeader(tt.status)
				fmt.Fprint(w, "because\x1b[31m of reasons")
			})
			_, err := r.first()
			if tt.code == "" {
				isTransient(t, err, tt.wait)
				return
			}
			isPermanent(t, err, tt.code, strconv.Itoa(tt.status), `because\x1b[31m of reasons`)
		})
	}
}

func TestHostileAnswersOfASegmentArePermanent(t *testing.T) {
	endless := strings.Repeat(`{"id":"x","pad":"`+strings.Repeat("y", 1000)+"\"},\n", 1000)
	for _, tt := range []struct {
		name, media, body, code, says string
	}{
		{"a login page", "text/html", "<html><title>Login", feed.CodeBadAnswer, "text/html"},
		{"JSON that is cut", "application/json", `{"items":[{"id":"a"}`, feed.CodeBadAnswer, "page 1"},
		{"no items", "application/json", `{"users":[]}`, feed.CodeBadAnswer, `"items"`},
		{"items that are not a list", "application/json", `{"items":{"id":"a"}}`, feed.CodeBadAnswer, "page 1"},
		{"nothing", "application/json", ``, feed.CodeBadAnswer, "page 1"},
		{"a cursor that is an object", "application/json", `{"items":[],"next_cursor":{}}`, feed.CodeBadAnswer, "next_cursor"},
		{"a next page on another server", "application/json", `{"items":[],"next":"http://127.0.0.1:9/x"}`, feed.CodeBadAnswer, "another server"},
		{"a next page that is a file", "application/json", `{"items":[],"next":"file:///etc/passwd"}`, feed.CodeBadAnswer, "another server"},
		{"a page without end", "application/json", `{"items":[` + strings.Repeat(endless, 9), feed.CodePageTooLarge, "page_size"},
		{"a page of too many values", "application/json", `{"items":[` + strings.Repeat("{},", 400_000) + `{}]}`, feed.CodeBadAnswer, "1000000 values"},
		{"a page of too many lines", "application/x-ndjson", strings.Repeat("1\n", 200_001), feed.CodeBadAnswer, "200000 lines"},
		{"an item that is not an object", "application/json", `{"items":[{"id":"a"},7]}`, feed.CodeBadItem, "page 1, item 2"},
		{"a member twice", "application/json", `[{"id":"a","n":1,"n":2}]`, feed.CodeDuplicateKey, `"n"`},
		{"no id", "application/json", `[{"id":"a"},{"ID":"b"}]`, feed.CodeMissingID, "item 2"},
		{"a blank id", "application/json", `[{"id":" "}]`, feed.CodeMissingID, "id is empty"},
		{"an id that is a list", "application/json", `[{"id":[1]}]`, feed.CodeBadID, "item 1"},
		{"an id with a fraction", "application/json", `[{"id":1.5}]`, feed.CodeBadID, "1.5"},
		{"an id with a zero byte", "application/json", `[{"id":"a\u0000"}]`, feed.CodeBadEncoding, "item 1"},
		{"a long id", "application/json", `[{"id":"` + strings.Repeat("i", 257) + `"}]`, feed.CodeIDTooLong, "257"},
		{"a huge item", "application/json", `[{"id":"a","x":"` + strings.Repeat("i", 256<<10) + `"}]`, feed.CodeItemTooLarge, "item 1"},
		{"text that is not UTF-8", "application/x-ndjson", "{\"id\":\"a\xff\"}", feed.CodeBadEncoding, "item 1"},
		{"a broken line", "application/x-ndjson", "{\"id\":\"a\"}\n\n{\"id\":", feed.CodeBadItem, "item 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := segmentOf(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.media)
				fmt.Fprint(w, tt.body)
			})
			_, err := r.first()
			isPermanent(t, err, tt.code, tt.says)
		})
	}
}

func TestASegmentThatNeverEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		next func(at int) int
		docs string
		most int // pages until it has to be noticed
		says string
	}{
		{"answers the same cursor again", func(int) int { return 1 }, `{"id":"a"}`, 3, "before"},
		{"goes in a circle of 40 pages", func(at int) int { return (at + 1) % 40 }, `{"id":"a"}`, 130, "before"},
		{"comes to a circle late", func(at int) int { return at + 1 - at/50*7 }, `{"id":"a"}`, 200, "before"},
		{"has no items any more", func(at int) int { return at + 1 }, ``, 1001, "1000 pages"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := segmentOf(t, func(w http.ResponseWriter, r *http.Request) {
				at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
				fmt.Fprintf(w, `{"items":[%s],"next_cursor":"%d"}`, tt.docs, tt.next(at))
			})
			f := r.open()
			var from feed.Cursor
			for range tt.most {
				p, err := f.Read(t.Context(), from)
				if err != nil {
					isPermanent(t, err, feed.CodeLoop, tt.says)
					return
				}
				from = p.Next
			}
			t.Errorf("still reading after %d pages", tt.most)
		})
	}
}

func TestASlowSegmentIsLeftAfterItsTimeout(t *testing.T) {
	release := make(chan struct{})
	r := segmentOf(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	r.spec.Timeout = api.Duration(20 * time.Millisecond)
	_, err := r.first()
	isTransient(t, err, 0)
}
