package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/storetest"
)

// beside is another process on the store of a world, which can die: after the
// calls that are left, none of its calls reaches the store.
type beside struct {
	*service.Service
	left atomic.Int64
	lost bool   // the last call is made, and its answer is lost
	die  func() // nobody is left to try again
}

func newBeside(t *testing.T, s store.Store, v *vault.Vault) *beside {
	t.Helper()
	b := &beside{die: func() {}}
	b.left.Store(1 << 40)
	flaky := &storetest.Flaky{Store: s, Fail: func(storetest.Call) storetest.Fault {
		switch n := b.left.Add(-1); {
		case n >= 0:
			return storetest.Fault{}
		case n == -1 && b.lost:
			return storetest.Fault{Lost: true}
		}
		b.die()
		return storetest.Fault{Before: store.ErrUnavailable}
	}}
	log := slog.New(slog.DiscardHandler)
	n, _, err := assembly.Open(context.Background(), assembly.Options{
		Store: flaky, Guard: egress.New(egress.Policy{Allow: egress.Loopback()}), Vault: v, Steps: []weir.Step{raw("award", award)}, Logger: log,
	}, engine.Options{Logger: log, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	b.Service = n.Service()
	return b
}

func slotSpec(w *world, source bool) stored.Spec {
	n := api.NewBulkAction{Name: "slot", Tenant: "acme", Steps: []api.Step{{Action: "award"}}, Start: true}
	if source {
		n.Source = &api.Source{Segment: &api.SegmentSource{URL: w.sink.URL}}
		return stored.Of(&n)
	}
	for i := range 3 {
		n.Items = append(n.Items, api.Item{ID: fmt.Sprint("u", i), Data: json.RawMessage(`{"n":1}`)})
	}
	return stored.Of(&n)
}

// TestASlotHasOneBulkActionWhateverCrashes: the process that makes the bulk action of
// a slot dies after each of its calls to the store in turn; whoever does it again
// ends with the same one, whole.
func TestASlotHasOneBulkActionWhateverCrashes(t *testing.T) {
	s := memstore.New(memstore.Options{})
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, opening{store: s, options: func(o *assembly.Options) { o.Vault = v }})
	for _, source := range []bool{false, true} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("source %v, answers lost %v", source, lost), func(t *testing.T) {
				t.Parallel() // most of it is waiting
				w, cut, step := w.in(t), int64(0), int64(1)
				if testing.Short() {
					step = 4
				}
				for w.crashAt(t, s, v, slotSpec(w, source), cut, lost) {
					cut += step
				}
				if cut < 3 {
					t.Errorf("it was done after %d calls: the test proves nothing", cut)
				}
			})
		}
	}
}

// crashAt has a process die after so many calls, and does its work again. It reports whether there was anything left to do.
func (w *world) crashAt(t *testing.T, s store.Store, v *vault.Vault, n stored.Spec, cut int64, lost bool) (died bool) {
	t.Helper()
	key := fmt.Sprintf("%s cut %d", t.Name(), cut)
	b := newBeside(t, s, v)
	b.lost = lost
	b.left.Store(cut)
	ctx, die := context.WithCancel(t.Context())
	defer die()
	b.die = die
	first, err := b.Drafts.CreateOnce(ctx, key, n, draft.Made{Schedule: key})
	id, again := w.node.Service().Drafts.CreateOnce(t.Context(), key, n, draft.Made{Schedule: key})
	if again != nil || err == nil && first != id {
		t.Fatalf("cut %d: first %q, %v; again %q, %v", cut, first, err, id, again)
	}
	var got api.BulkAction
	w.until(fmt.Sprintf("cut %d: the end of %s", cut, id), func() bool {
		w.must(w.admin, "GET", "/v1/bulk-actions/"+id, "", &got)
		return got.State == api.Completed
	})
	if got.Counts.Done != 3 || got.Schedule != key {
		t.Errorf("cut %d: %+v", cut, got)
	}
	if made := w.madeBy(key); len(made) != 1 {
		t.Errorf("cut %d: the slot has %v", cut, made)
	}
	return err != nil
}

// madeBy are the bulk actions of a schedule.
func (w *world) madeBy(schedule string) (ids []string) {
	all, _, err := w.node.Service().Bulks.List(w.t.Context(), bulk.Filter{}, "", 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, b := range all {
		if b.Schedule == schedule {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

func TestASlotHasOneBulkActionHoweverManyMakeIt(t *testing.T) {
	s := memstore.New(memstore.Options{})
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, opening{store: s, options: func(o *assembly.Options) { o.Vault = v }})
	for round := range 5 {
		key := fmt.Sprint("round ", round)
		var ids sync.Map
		var wg sync.WaitGroup
		for range 4 {
			other := newBeside(t, s, v).Service
			wg.Go(func() {
				id, err := other.Drafts.CreateOnce(t.Context(), key, slotSpec(w, false), draft.Made{Schedule: key})
				if err != nil && !strings.Contains(err.Error(), "ask again") {
					t.Errorf("%s: %v", key, err)
				}
				ids.Store(id, true)
			})
		}
		wg.Wait()
		n := 0
		ids.Range(func(any, any) bool { n++; return true })
		if made := w.madeBy(key); n != 1 || len(made) != 1 {
			t.Errorf("%s: %d ids, bulk actions %v", key, n, made)
		}
	}
}
