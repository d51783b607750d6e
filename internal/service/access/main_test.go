package access

import (
	"context"
	"sync"
	"testing"

	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// root sees and may everything.
var root = Local()

func newKeys(t *testing.T, s records.Keeper, o Options) *Keys {
	t.Helper()
	k, err := NewKeys(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// create makes a key that has to be right.
func create(t *testing.T, k *Keys, spec NewKey) (Key, string) {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "test"
	}
	if spec.Scopes == nil {
		spec.Scopes = []Scope{Read}
	}
	made, text, err := k.Create(t.Context(), root, spec)
	if err != nil {
		t.Fatal(err)
	}
	return made, text.Reveal()
}

// counted is a store that counts and can be made to fail.
type counted struct {
	records.Keeper
	mu             sync.Mutex
	lookups, swaps int
	fail           error
}

func newCounted() *counted { return &counted{Keeper: memstore.New(memstore.Options{})} }

func (c *counted) Lookup(ctx context.Context, name string) ([]byte, error) {
	if err := c.count(&c.lookups); err != nil {
		return nil, err
	}
	return c.Keeper.Lookup(ctx, name)
}

func (c *counted) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	if err := c.count(&c.swaps); err != nil {
		return nil, err
	}
	return c.Keeper.Swap(ctx, name, old, value)
}

func (c *counted) count(n *int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
	return c.fail
}

func (c *counted) failWith(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

func (c *counted) seen() (lookups, swaps int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lookups, c.swaps
}

// dump is all that a store holds.
func dump(t *testing.T, s records.Keeper) []store.Record {
	t.Helper()
	all, err := s.List(t.Context(), "", "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
