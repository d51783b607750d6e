package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
)

// add writes a change down and returns its entry.
func add(t *testing.T, a *Audit, c Change) AuditEntry {
	t.Helper()
	e, err := a.Append(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// list goes through all pages and returns the targets.
func list(t *testing.T, a *Audit, by Principal, f AuditFilter, limit int) (targets []string) {
	t.Helper()
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := a.List(t.Context(), by, f, cursor, limit)
		if err != nil || len(page) > limit {
			t.Fatalf("List = %d entries, %v", len(page), err)
		}
		for _, e := range page {
			targets = append(targets, e.Target)
		}
		cursor = next
	}
	return targets
}

func TestEntryTellsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAudit(memstore.New(memstore.Options{}))
		made := add(t, a, Change{
			Who: Principal{KeyID: "key_1", Name: "night shift"}, From: "198.51.100.7", Action: "bulk_action.cancel", Target: "ba_1", Tenant: "growth",
			Before: map[string]any{"state": "running", "n": 1e15}, After: struct {
				State string `json:"state"`
			}{"cancelled"}, Reason: "provider asks", RequestID: "req_1",
		})
		page, next, err := a.List(t.Context(), root, AuditFilter{}, "", 10)
		if err != nil || len(page) != 1 || next != "" {
			t.Fatalf("List = %v, %q, %v", page, next, err)
		}
		got, _ := json.Marshal(page[0])
		want := `{"id":"` + made.ID + `","at":"2000-01-01T00:00:00Z","key_id":"key_1","key_name":"night shift","from":"198.51.100.7","action":"bulk_action.cancel",` +
			`"target":"ba_1","tenant":"growth","before":{"n":1000000000000000,"state":"running"},"after":{"state":"cancelled"},"reason":"provider asks","request_id":"req_1"}`
		if string(got) != want {
			t.Errorf("entry is\n%s, want\n%s", got, want)
		}
	})
}

func TestEntriesComeNewestFirstOnEveryPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAudit(memstore.New(memstore.Options{}))
		var want []string
		for i := range 300 {
			add(t, a, Change{Target: fmt.Sprint(i)})
			if want = append(want, fmt.Sprint(i)); i%3 == 0 { // others share a millisecond
				time.Sleep(time.Millisecond)
			}
		}
		slices.Reverse(want)
		for _, limit := range []int{1, 7, 100, 299, 300, 301, 1000} {
			if got := list(t, a, root, AuditFilter{}, limit); !slices.Equal(got, want) {
				t.Errorf("by %d: got %v", limit, got)
			}
		}
	})
}

func TestFiltersChoose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAudit(memstore.New(memstore.Options{}))
		begin := time.Now()
		for i := range 10 {
			add(t, a, Change{
				Who: Principal{KeyID: fmt.Sprint("key_", i%2)}, Target: fmt.Sprint(i), Tenant: fmt.Sprint("t", i%3),
				Action: []string{"bulk_action.pause", "bulk_action.cancel", "bulk_actions.x", "key.create"}[i%4],
			})
			time.Sleep(time.Second)
		}
		for _, tt := range []struct {
			name string
			f    AuditFilter
			want string
		}{
			{"all", AuditFilter{}, "9 8 7 6 5 4 3 2 1 0"},
			{"tenant", AuditFilter{Tenant: "t1"}, "7 4 1"},
			{"target", AuditFilter{Target: "4"}, "4"},
			{"actor", AuditFilter{Actor: "key_1"}, "9 7 5 3 1"},
			{"action", AuditFilter{Action: "bulk_action.pause"}, "8 4 0"},
			{"kind of action", AuditFilter{Action: "bulk_action."}, "9 8 5 4 1 0"},
			{"from", AuditFilter{From: begin.Add(7 * time.Second)}, "9 8 7"},
			{"to, which is left out", AuditFilter{To: begin.Add(2 * time.Second)}, "1 0"},
			{"to within a millisecond", AuditFilter{To: begin.Add(2*time.Second + time.Microsecond)}, "2 1 0"},
			{"between", AuditFilter{From: begin.Add(3 * time.Second), To: begin.Add(5 * time.Second)}, "4 3"},
			{"together", AuditFilter{Actor: "key_0", Tenant: "t0", From: begin.Add(time.Second)}, "6"},
			{"nothing", AuditFilter{Tenant: "none"}, ""},
			{"before all", AuditFilter{To: begin}, ""},
			{"times beyond all", AuditFilter{From: time.Unix(-1<<40, 0), To: time.Unix(1<<50, 0)}, "9 8 7 6 5 4 3 2 1 0"},
		} {
			for _, limit := range []int{1, 3, 100} {
				if got := strings.Join(list(t, a, root, tt.f, limit), " "); got != tt.want {
					t.Errorf("%s, by %d: got %s, want %s", tt.name, limit, got, tt.want)
				}
			}
		}
	})
}

func TestBoundReadersSeeTheirTenantsAlone(t *testing.T) {
	a := NewAudit(memstore.New(memstore.Options{}))
	for _, tenant := range []string{"growth", "sales", "other", ""} {
		add(t, a, Change{Target: "of " + tenant, Tenant: tenant})
	}
	for _, tt := range []struct {
		name string
		by   Principal
		f    AuditFilter
		want []string
	}{
		{"bound to one", Principal{KeyID: "k", Tenants: []string{"growth"}}, AuditFilter{}, []string{"of growth"}},
		{"bound to two", Principal{KeyID: "k", Tenants: []string{"growth", "sales"}}, AuditFilter{}, []string{"of sales", "of growth"}},
		{"asks for a foreign one", Principal{KeyID: "k", Tenants: []string{"growth"}}, AuditFilter{Tenant: "other"}, nil},
		{"bound to none", root, AuditFilter{}, []string{"of ", "of other", "of sales", "of growth"}},
		{"nobody", Principal{}, AuditFilter{}, nil},
	} {
		if got := list(t, a, tt.by, tt.f, 10); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A call looks at a bounded number of entries, and the pages still lead to the end.
func TestRareEntriesAreFoundInSeveralCalls(t *testing.T) {
	a := NewAudit(memstore.New(memstore.Options{}))
	add(t, a, Change{Target: "needle", Tenant: "rare"})
	for range auditScan + 500 {
		add(t, a, Change{Target: "hay"})
	}
	page, next, err := a.List(t.Context(), root, AuditFilter{Tenant: "rare"}, "", 10)
	if err != nil || len(page) != 0 || next == "" {
		t.Fatalf("first call = %v, %q, %v, want nothing and where to go on", page, next, err)
	}
	if got := list(t, a, root, AuditFilter{Tenant: "rare"}, 10); !slices.Equal(got, []string{"needle"}) {
		t.Errorf("got %v, want the needle", got)
	}
}

func TestForgedCursorIsRefused(t *testing.T) {
	a := NewAudit(memstore.New(memstore.Options{}))
	for _, cursor := range []string{"x", "key/", strings.Repeat("!", 26), strings.Repeat("Z", 27)} {
		_, _, err := a.List(t.Context(), root, AuditFilter{}, cursor, 10)
		if field, ok := errors.AsType[*weir.FieldError](err); !ok || field.Code != "bad_cursor" {
			t.Errorf("List after %q = %v, want bad_cursor", cursor, err)
		}
	}
}

func TestOldEntriesGo(t *testing.T) {
	for _, tt := range []struct {
		name string
		age  time.Duration // of the oldest that stays
		keep int
		want int
	}{
		{"none", 0, 0, 600},
		{"by age", 100 * time.Second, 0, 100},
		{"by number", 0, 250, 250},
		{"by both", 100 * time.Second, 50, 50},
		{"more than there are", 0, 600, 600},
		{"all", time.Millisecond, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := NewAudit(memstore.New(memstore.Options{}))
			for i := range 600 {
				add(t, a, Change{Target: fmt.Sprint(i)})
				time.Sleep(time.Second)
			}
			before := time.Time{}
			if tt.age > 0 {
				before = time.Now().Add(-tt.age)
			}
			removed, err := a.Prune(t.Context(), before, tt.keep)
			got := list(t, a, root, AuditFilter{}, 1000)
			if err != nil || removed != 600-tt.want || len(got) != tt.want {
				t.Errorf("%s: Prune = %d, %v, left %d, want %d left", tt.name, removed, err, len(got), tt.want)
			}
			if len(got) > 0 && got[0] != "599" {
				t.Errorf("%s: the newest is %s, want 599", tt.name, got[0])
			}
		})
	}
}

func TestNoSecretIsWrittenDown(t *testing.T) {
	s := memstore.New(memstore.Options{})
	a := NewAudit(s)
	_, key := newText()
	state := map[string]any{
		"signing_secret": "planted-1", "headers": map[string]string{"Authorization": "Bearer planted-2", "X-Api-Key": "planted-3"}, "hidden": vault.NewSecret("planted-4"),
		"list": []any{map[string]any{"password": 12345678, "note": "use " + key.Reveal() + " here"}}, "url": "postgres://u:planted-5@db/x", "nested_token": []string{"planted-6"},
		"webhook": "whsec_plantedplantedplanted", "asymmetric": "whsk_plantedplantedplanted", "sealed": "sealed1.0011aabb.planted_planted", "pem": "-----BEGIN EC PRIVATE KEY-----\nplanted\n-----END EC PRIVATE KEY-----",
		"kept": "visible", "has_secret": true, "old_secret": "", "no_token": nil,
	}
	e := add(t, a, Change{Action: "x", Before: state, After: state, Reason: "key " + key.Reveal(), Target: "https://u:planted@host/", RequestID: strings.Repeat(key.Reveal(), 40)})
	raw, _ := json.Marshal(e)
	for _, r := range append([][]byte{raw}, dump(t, s)[0].Value) {
		if bytes.Contains(r, []byte("planted")) || bytes.Contains(r, []byte(key.Reveal()[:40])) || bytes.Contains(r, []byte("12345678")) {
			t.Errorf("a secret was written down: %s", r)
		}
		for _, want := range []string{`"kept":"visible"`, `"has_secret":true`, `"old_secret":""`, `"no_token":null`, `//[secret]@`} {
			if !bytes.Contains(r, []byte(want)) {
				t.Errorf("%s is missing in %s", want, r)
			}
		}
	}
}

func TestLongTextsAreCut(t *testing.T) {
	a := NewAudit(memstore.New(memstore.Options{}))
	e := add(t, a, Change{Action: "x", Reason: strings.Repeat("ä", 600) + "\xff", Before: strings.Repeat("x", maxAuditState+1), From: "\xff\n"})
	if len(e.Reason) > maxAuditText+3 || !strings.HasSuffix(e.Reason, "ä…") || string(e.Before) != `{"omitted_bytes":65539}` {
		t.Errorf("entry is %+v", e)
	}
	if _, err := a.Append(t.Context(), Change{Before: make(chan int)}); err == nil {
		t.Error("an invalid JSON state was accepted")
	}
}
