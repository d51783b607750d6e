package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir"
)

// gate is a downstream that answers nothing until it is opened. It fails items
// that say "bad":true, and remembers by which keys it was called for an item.
type gate struct {
	opened chan struct{}
	once   sync.Once
	called chan struct{} // gets something when the first call comes
	mu     sync.Mutex
	keys   map[string][]string // by item id and step
	fails  func(doc string) (code, message string)
	given  map[string]string // the last document of an item, by action and id
	undone map[string]string // what an undo was given, by action and id
	order  []string          // undo calls, as action
}

func newGate() *gate {
	return &gate{opened: make(chan struct{}), called: make(chan struct{}, 1), keys: map[string][]string{}, given: map[string]string{}, undone: map[string]string{}}
}

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }

// reached waits for a call.
func (g *gate) reached() { <-g.called }

type rawBatch = weir.Batch[json.RawMessage, json.RawMessage]

// step is an action that answers {"by": name, "of": id}.
func (g *gate) step(name string) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: name, Retry: weir.Backoff{MaxAttempts: 1},
		Handle: func(ctx context.Context, b *rawBatch) error {
			select {
			case g.called <- struct{}{}:
			default:
			}
			select {
			case <-g.opened:
			case <-ctx.Done():
				return ctx.Err()
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			for i := range b.Len() {
				g.answer(name, b, i)
			}
			return nil
		},
		Undo: func(_ context.Context, b *weir.Batch[weir.Undone[json.RawMessage, json.RawMessage], struct{}]) error {
			g.mu.Lock()
			defer g.mu.Unlock()
			for i, it := range b.Items() {
				g.undone[name+" "+it.ID] += string(it.Value.Input) + " -> " + string(it.Value.Output)
				g.order = append(g.order, name)
				b.Done(i, struct{}{})
			}
			return nil
		},
	})
}

func (g *gate) answer(name string, b *rawBatch, i int) {
	it := b.Item(i)
	g.keys[name+" "+it.ID] = append(g.keys[name+" "+it.ID], b.Key(i))
	g.given[name+" "+it.ID] = string(it.Value)
	if g.fails != nil {
		if code, message := g.fails(string(it.Value)); code != "" {
			b.Fail(i, code, fmt.Errorf("%s", message))
			return
		}
	}
	if strings.Contains(string(it.Value), `"bad":true`) {
		b.Fail(i, "is_bad", fmt.Errorf("account %d is bad", i))
		return
	}
	b.Done(i, json.RawMessage(fmt.Sprintf(`{"by":%q,"of":%q}`, name, it.ID)))
}

// fail sets which documents fail from now on; nil: as they say themselves.
func (g *gate) fail(by func(doc string) (code, message string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fails = by
}

// keysFor is by which keys an action was called for an item.
func (g *gate) keysFor(action, id string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.keys[action+" "+id]
}

func read(t *testing.T, resp *http.Response, to any) {
	t.Helper()
	if err := json.NewDecoder(resp.Body).Decode(to); err != nil {
		t.Fatal(err)
	}
}
