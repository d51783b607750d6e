package own

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// TellLimits puts a notice on the board that limits have changed.
func TellLimits(ctx context.Context, s store.Inbox) error {
	body, err := json.Marshal(notice{What: "limits"})
	if err != nil {
		return err
	}
	return s.Append(ctx, store.Control, body, store.Claim{})
}

// notice is one message on the notice board, the inbox of [store.Control]. Every
// node reads all of them, and looks at everything again when there is one: what
// a notice says is only for people.
type notice struct {
	Node string `json:"node"`
	What string `json:"what"` // joined, left, owns less, works, released, stepped down, map, limits
	Of   int    `json:"of,omitempty"`
}

// Tell puts a notice on the board. Without it the others find out a little later by themselves.
func (f *Fleet) Tell(ctx context.Context, what string, of int) {
	body, err := json.Marshal(notice{f.node, what, of})
	if err == nil {
		err = f.store.Append(ctx, store.Control, body, store.Claim{})
	}
	if err != nil && !errors.Is(err, context.Canceled) { // a node that was told to stop has no news
		f.log.LogAttrs(ctx, slog.LevelWarn, "notice not given", slog.String("what", what), slog.Any("error", err))
	}
}

// Bell wakes all goroutines that wait for news.
type Bell struct {
	mu   sync.Mutex
	next chan struct{}
}

// Rung returns a channel that is closed at the next ring.
func (b *Bell) Rung() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// Ring wakes all that wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// ReadBoard rings the bell for every notice until ctx ends. It starts with the
// oldest one that the leader has not yet taken down.
func (f *Fleet) ReadBoard(ctx context.Context) {
	for after := uint64(0); ctx.Err() == nil; {
		notices, err := f.store.Read(ctx, store.Control, after, stored.InboxRead)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			f.log.LogAttrs(ctx, slog.LevelWarn, "notice board not read, will ask again", slog.Any("error", err))
			Pause(ctx, retryEvery, nil)
		case len(notices) > 0:
			after = notices[len(notices)-1].Seq
			f.seen.Store(after)
			f.News.Ring()
		}
	}
}

// retryEvery is how soon a store that does not answer is asked again.
const retryEvery = 200 * time.Millisecond

// Pause waits for d, for news, or for the end of ctx. It reports whether d has passed.
func Pause(ctx context.Context, d time.Duration, news <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-news:
	case <-ctx.Done():
	}
	return false
}
