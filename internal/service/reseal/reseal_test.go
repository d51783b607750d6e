package reseal_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/reseal"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store/memstore"
)

func vaultOf(t *testing.T, newest vault.Key, older ...vault.Key) *vault.Vault {
	t.Helper()
	v, err := vault.New(newest, older...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// fill gives a store one of each record that holds a secret, and an ended bulk action whose callback has one.
func fill(t *testing.T, s *memstore.Store, v *vault.Vault, url string) {
	t.Helper()
	n := nodetest.Start(t, nodetest.Options{Store: s, Vault: v})
	callback := `"callback":{"url":"` + url + `/told","secret":"` + secret + `"}`
	source := `"source":{"segment":{"url":"` + url + `/segment"}}`
	for _, x := range []struct {
		method, path, body string
		status             int
	}{
		{"PUT", "/v1/actions/remind", `{"url":"` + url + `","secret":"` + secret + `","header":{"X-Token":"plain token","X-More":"more"}}`, 200},
		{"PUT", "/v1/connections/warehouse", `{"kind":"http","url":"` + url + `","secret":{"token":"t","header.x-key":"k"}}`, 200},
		{"POST", "/v1/webhooks", `{"url":"` + url + `/hook","secret":"` + secret + `"}`, 201},
		{"POST", "/v1/schedules", `{"name":"spring","tenant":"acme","cron":"0 9 21 3 *","bulk_action":{"name":"s","steps":[{"action":"remind"}],` + callback + `,` + source + `}}`, 201},
		{"PUT", "/v1/templates/spring", `{"bulk_action":{"steps":[{"action":"remind"}],` + callback + `}}`, 200},
		{"POST", "/v1/bulk-actions", `{"name":"draft","steps":[{"action":"remind"}],` + callback + `}`, 201},
	} {
		n.Call(x.method, x.path, x.body, x.status, nil)
	}
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"remind"}],"items":[{"id":"u1"}],"start":true,`+callback+`}`, 201, &b)
	n.Until(b.ID, api.Completed)
	n.Stop()
}

// endpoint answers calls, and keeps the token that came last.
type endpoint struct{ token atomic.Value }

// ServeHTTP answers a call.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		e.token.Store(r.Header.Get("X-Token"))
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"results": []any{}, "default": "done"})
}

var errDied = errors.New("the process died")

// mortal fails writes after some.
type mortal struct {
	*memstore.Store
	left int
}

// Swap is a write.
func (m *mortal) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	if m.left--; m.left < 0 {
		return nil, errDied
	}
	return m.Store.Swap(ctx, name, old, value)
}

func count(t *testing.T, s reseal.Store, key vault.Key) reseal.Left {
	t.Helper()
	all, err := reseal.Count(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return all[key.ID()]
}

// TestAllSecretsAreSealedAgain: the work is killed before each of its writes, and goes on.
func TestAllSecretsAreSealedAgain(t *testing.T) {
	s := memstore.New(memstore.Options{})
	defer s.Close()
	e := &endpoint{}
	web := httptest.NewServer(e)
	defer web.Close()
	old, fresh := vault.NewKey(), vault.NewKey()
	fill(t, s, vaultOf(t, old), web.URL)
	before := count(t, s, old)
	if before.Records < 6 || before.BulkActions != 1 {
		t.Fatalf("the store has %+v", before)
	}

	if n, err := reseal.Records(t.Context(), s, vaultOf(t, fresh, vault.NewKey())); n != 0 || err == nil || !strings.Contains(err.Error(), old.ID()) {
		t.Errorf("without the old key Records = %d, %v, want an error that names it", n, err)
	}
	if got := count(t, s, old); got.Records != before.Records {
		t.Errorf("after it %d records are left, want %d", got.Records, before.Records)
	}
	both, deaths := vaultOf(t, fresh, old), 0
	for {
		_, err := reseal.Records(t.Context(), &mortal{s, 1}, both)
		if err == nil {
			break
		}
		if deaths++; !errors.Is(err, errDied) || deaths > before.Records {
			t.Fatalf("after %d deaths: %v", deaths, err)
		}
	}
	if got := count(t, s, old); got.Records != 0 || got.BulkActions != 1 {
		t.Errorf("with the old key are sealed %+v, want the bulk action alone", got)
	}
	if got := count(t, s, fresh); got.Records != before.Records {
		t.Errorf("with the new key are sealed %+v, want %d records", got, before.Records)
	}
	if n, err := reseal.Records(t.Context(), s, both); n != 0 || err != nil {
		t.Errorf("Records again = %d, %v, want nothing to do", n, err)
	}

	n := nodetest.Start(t, nodetest.Options{Store: s, Vault: vaultOf(t, fresh)})
	var test struct{ Results []any }
	n.Call("POST", "/v1/actions/remind/test", `{"items":[{"id":"u1"}],"dry_run":false}`, 200, &test)
	if got := e.token.Load(); got != "plain token" {
		t.Errorf("with the new key alone the endpoint gets the token %q", got)
	}
	n.Stop()
	third := vault.NewKey()
	if n, err := reseal.Records(t.Context(), s, vaultOf(t, third, fresh)); n < before.Records || err != nil {
		t.Errorf("Records with a third key = %d, %v, want what was sealed before to open", n, err)
	}
}

func TestAKeyThatIsNeededIsMissed(t *testing.T) {
	s := memstore.New(memstore.Options{})
	defer s.Close()
	web := httptest.NewServer(&endpoint{})
	defer web.Close()
	old, fresh, unused := vault.NewKey(), vault.NewKey(), vault.NewKey()
	fill(t, s, vaultOf(t, old), web.URL)
	if _, err := reseal.Records(t.Context(), s, vaultOf(t, fresh, old)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		v     *vault.Vault
		known []string
		want  string
	}{
		{"for the callback of a bulk action", vaultOf(t, fresh), []string{fresh.ID(), old.ID()}, old.ID()},
		{"for records", vaultOf(t, old), []string{fresh.ID(), old.ID()}, fresh.ID()},
		{"for nothing", vaultOf(t, fresh, old), []string{unused.ID()}, ""},
		{"all are there", vaultOf(t, fresh, old), []string{fresh.ID(), old.ID()}, ""},
	} {
		id, left, err := reseal.Missing(t.Context(), s, tt.v, tt.known)
		if err != nil || id != tt.want || (id != "") != left.Any() || (id != "") != (len(left.Names) > 0) {
			t.Errorf("%s: Missing = %q, %+v, %v, want %q", tt.name, id, left, err, tt.want)
		}
	}
}
