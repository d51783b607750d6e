package redisstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

// witness is a downstream that remembers what it was asked to do.
type witness struct {
	mu    sync.Mutex
	calls map[string]int
}

func (w *witness) add(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[id]++
}

func (w *witness) seen() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.calls)
}

// paced is a chain that takes about ten milliseconds for ten items.
func (w *witness) paced() weir.Chain[json.RawMessage, int] {
	return weir.Start(weir.Action[json.RawMessage, int]{
		Name: "paced", BatchSize: 10,
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, int]) error {
			<-time.After(10 * time.Millisecond)
			for i, it := range b.Items() {
				w.add(it.ID)
				b.Done(i, i)
			}
			return nil
		},
	})
}

// node is an engine on Redis whose work takes its time.
type node struct {
	*engine.Engine
	*witness
	chain weir.Chain[json.RawMessage, int]
	stop  func() error
}

// startNode runs an engine with one slot in one partition.
func startNode(t *testing.T, o redisstore.Options) *node {
	t.Helper()
	o.Mode = redisstore.Memory
	s := open(t, o)
	e, err := engine.Open(t.Context(), s, engine.Options{
		Partitions: 1, Slots: 1, LeaseFor: 3 * time.Second, DrainFor: time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Engine: e, witness: &witness{calls: map[string]int{}}}
	n.chain = n.paced()
	if err := e.Handle(n.chain); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	n.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := n.stop(); err != nil {
			t.Errorf("Run() = %v", err)
		}
		_ = s.Close()
	})
	return n
}

func (n *node) submit(t *testing.T, items int, name string) *engine.BulkAction {
	t.Helper()
	b, err := engine.Submit(t.Context(), n.Engine, n.chain, func(yield func(weir.RawItem, error) bool) {
		for i := range items {
			if !yield(weir.RawItem{ID: fmt.Sprint(name, i), Value: json.RawMessage(`{}`)}, nil) {
				return
			}
		}
	}, weir.Spec{IdempotencyKey: name})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantAll waits for bulk actions and wants every item done and seen downstream.
func (n *node) wantAll(t *testing.T, items int, all ...*engine.BulkAction) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := 0
	for _, b := range all {
		rep, err := b.Wait(ctx)
		for errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
			<-time.After(100 * time.Millisecond)
			rep, err = b.Wait(ctx)
		}
		if err != nil {
			t.Fatalf("%s: %v; health: %v", b.ID(), err, n.Health())
		}
		done += int(rep.Counts.Done)
	}
	if done != items || n.seen() != items {
		t.Errorf("%d items are done and %d were run, want %d", done, n.seen(), items)
	}
	if err := n.Health(); err != nil {
		t.Errorf("Health() = %v", err)
	}
}

func (n *node) after(t *testing.T, items int) {
	t.Helper()
	until(t, fmt.Sprint(items, " items were run"), func() bool { return n.seen() >= items })
}

// TestARestartWithAnOlderCopyLosesNothing has a server that keeps a copy of a moment and no log.
func TestARestartWithAnOlderCopyLosesNothing(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t, "appendonly", "no")
	n := startNode(t, redisstore.Options{Addresses: []string{r.Addr}})
	long := n.submit(t, 4000, "long")
	n.after(t, 500)
	r.Do("SAVE")
	n.after(t, 1000)
	late := n.submit(t, 500, "late")
	n.after(t, 1500)
	r.Kill()
	r.Restart()
	n.wantAll(t, 4500, long, late)
	if n.Regressions() == 0 {
		t.Error("the set-back server was not noticed")
	}
	if again := n.submit(t, 500, "late"); again.ID() != late.ID() {
		t.Errorf("the same submit again is %s, want %s", again.ID(), late.ID())
	}
}

// TestAFailoverToAReplicaThatLagsLosesNothing has both replicas miss the last second.
func TestAFailoverToAReplicaThatLagsLosesNothing(t *testing.T) {
	t.Parallel()
	set := testenv.NewSentinelSet(t)
	n := startNode(t, redisstore.Options{Addresses: set.Addrs(), Primary: testenv.PrimaryName})
	long := n.submit(t, 4000, "long")
	n.after(t, 500)
	for _, r := range set.Replicas {
		r.Freeze()
	}
	set.Primary.Do("CLIENT", "KILL", "TYPE", "replica")
	n.after(t, 1000)
	late := n.submit(t, 500, "late")
	n.after(t, 1200)
	set.Primary.Kill()
	for _, r := range set.Replicas {
		r.Thaw()
	}
	n.wantAll(t, 4500, long, late)
	if n.Regressions() == 0 {
		t.Error("the incomplete replica was not noticed")
	}
}

// TestAFlushStopsOpenly flushes what is too old to be put back.
func TestAFlushStopsOpenly(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	n := startNode(t, redisstore.Options{Addresses: []string{r.Addr}})
	n.submit(t, 50_000, "long")
	<-time.After(12 * time.Second) // longer than the node remembers
	r.Do("FLUSHALL")
	var loss *weir.LossError
	until(t, "the loss is told", func() bool { return errors.As(n.Health(), &loss) })
	if loss.Have != 0 || loss.Acked == 0 || loss.Partition != 0 {
		t.Errorf("Health() = %v, want all commits of partition 0 lost", n.Health())
	}
	began := time.Now()
	if err := n.stop(); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("Run() = %v, %v after it was told to stop; want nil at once", err, time.Since(began))
	}
}

// TestAFlushOfWhatIsRememberedLosesNothing flushes a young store.
func TestAFlushOfWhatIsRememberedLosesNothing(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	n := startNode(t, redisstore.Options{Addresses: []string{r.Addr}})
	b := n.submit(t, 2000, "young")
	n.after(t, 1000)
	r.Do("FLUSHALL")
	n.wantAll(t, 2000, b)
}

func TestTheIncarnationChangesWithTheServerAndItsData(t *testing.T) {
	r := testenv.Redis(t)
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	defer s.Close()
	life := func() (name string) {
		until(t, "the server answers", func() (ok bool) {
			var err error
			name, err = s.Incarnation(t.Context(), 0)
			return err == nil
		})
		return name
	}
	first := life()
	if again := life(); again != first {
		t.Errorf("Incarnation() = %q, then %q", first, again)
	}
	r.Do("FLUSHALL")
	flushed := life()
	r.Kill()
	r.Restart()
	if restarted := life(); flushed == first || restarted == flushed {
		t.Errorf("Incarnation() = %q, %q after a flush, %q after a restart; want all different", first, flushed, restarted)
	}
}
