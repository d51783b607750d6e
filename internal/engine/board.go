package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"github.com/weirhq/weir/store"
)

// notice is one message on the notice board, the inbox of [store.Control]. Every
// node reads all of them, and looks at everything again when there is one: what
// a notice says is only for people.
type notice struct {
	Node string `json:"node"`
	What string `json:"what"` // joined, left, released, map
	Of   int    `json:"of,omitempty"`
}

// tell puts a notice on the board. Without it the others find out a little later by themselves.
func (e *Engine) tell(ctx context.Context, what string, of int) {
	body, err := json.Marshal(notice{e.node, what, of})
	if err == nil {
		err = e.store.Append(ctx, store.Control, body, store.Claim{})
	}
	if err != nil && !errors.Is(err, context.Canceled) { // a node that was told to stop has no news
		e.log.LogAttrs(ctx, slog.LevelWarn, "notice not given", slog.String("what", what), slog.Any("error", err))
	}
}

// bell wakes all goroutines that wait for news.
type bell struct {
	mu   sync.Mutex
	next chan struct{}
}

// rung is closed at the next ring.
func (b *bell) rung() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// readBoard rings the bell for every notice until ctx ends. It starts with the
// oldest one that the leader has not yet taken down.
func (e *Engine) readBoard(ctx context.Context) {
	for after := uint64(0); ctx.Err() == nil; {
		notices, err := e.store.Read(ctx, store.Control, after, inboxRead)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			e.log.LogAttrs(ctx, slog.LevelWarn, "notice board not read, will ask again", slog.Any("error", err))
			sleep(ctx, retryEvery)
		case len(notices) > 0:
			after = notices[len(notices)-1].Seq
			e.fleet.seen.Store(after)
			e.fleet.news.ring()
		}
	}
}
