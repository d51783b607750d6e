package server_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// losing is a store that, when it is told to, writes keys and is not heard of after.
type losing struct {
	store.Store
	keys atomic.Bool
	gone atomic.Bool // it has written one
}

func (l *losing) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	was, err := l.Store.Swap(ctx, name, old, value)
	if strings.HasPrefix(name, "key/") && l.keys.Load() {
		l.gone.Store(true)
		return nil, store.ErrUnknown
	}
	return was, err
}

func (l *losing) Lookup(ctx context.Context, name string) ([]byte, error) {
	if strings.HasPrefix(name, "key/") && l.gone.Load() {
		return nil, store.ErrUnavailable
	}
	return l.Store.Lookup(ctx, name)
}

// A key whose making was cut off is not left behind: the same request makes that
// one good, and there is no second.
func TestAKeyWhoseMakingWasCutOffIsMadeGood(t *testing.T) {
	m := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = m.Close() })
	st := &losing{Store: m}
	r := nodetest.Start(t, nodetest.Options{Store: st})
	const body = `{"name":"ci","scopes":["read"],"tenants":["acme"]}`
	key := http.Header{"Idempotency-Key": {"a-key-for-ci"}}
	st.keys.Store(true)
	r.CallWith("POST", "/v1/keys", body, key, 503, nil)
	st.keys.Store(false)
	st.gone.Store(false)
	var cut api.Page[api.Key]
	r.Call("GET", "/v1/keys", "", 200, &cut)
	if len(cut.Data) != 1 {
		t.Fatalf("%d keys were written, want one that nobody has", len(cut.Data))
	}
	var made, replayed api.Key
	r.CallWith("POST", "/v1/keys", body, key, 201, &made)
	if made.ID != cut.Data[0].ID || made.Key == "" {
		t.Errorf("the same request made %s with a text: %t; want %s", made.ID, made.Key != "", cut.Data[0].ID)
	}
	var who api.Whoami
	r.CallWith("GET", "/v1/whoami", "", http.Header{"Authorization": {"Bearer " + made.Key}}, 200, &who)
	if who.Key != made.ID {
		t.Errorf("its text is that of %q", who.Key)
	}
	r.CallWith("POST", "/v1/keys", body, key, 201, &replayed)
	if replayed.ID != made.ID || replayed.Key != "" {
		t.Errorf("once more it is %s, with a text: %t; want the same without", replayed.ID, replayed.Key != "")
	}
	var all api.Page[api.Key]
	r.Call("GET", "/v1/keys", "", 200, &all)
	if len(all.Data) != 1 {
		t.Errorf("there are %d keys, want 1", len(all.Data))
	}
}
