package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store/memstore"
)

// made is a bulk action that a schedule had made.
type made struct {
	key      string
	id       string
	at, ends time.Time
}

// world is what keepers touch: a clock that can be set, and bulk actions.
type world struct {
	mu      sync.Mutex
	shift   time.Duration   // of the clock
	lasts   time.Duration   // of a bulk action
	slow    time.Duration   // of Create
	fault   func(int) error // of a call of Create, before it does anything
	lost    func(int) error // of a call of Create, after it has made the bulk action
	calls   int
	made    []made
	overlap int // bulk actions made while the one before ran
	lags    []time.Duration
	counts  map[Result]int
}

func newWorld() *world { return &world{counts: map[Result]int{}} }

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.shift)
}

// set sets the clock.
func (w *world) set(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shift = time.Until(at)
}

// edit changes the world while keepers run in it.
func (w *world) edit(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) create(ctx context.Context, _ *Schedule, _ time.Time, key string) (string, error) {
	if slow := w.slowness(); slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	if w.fault != nil {
		if err := w.fault(w.calls); err != nil {
			return "", err
		}
	}
	i := slices.IndexFunc(w.made, func(m made) bool { return m.key == key })
	if i < 0 {
		now := time.Now().Add(w.shift)
		i = len(w.made)
		if i > 0 && now.Before(w.made[i-1].ends) {
			w.overlap++
		}
		w.made = append(w.made, made{key, fmt.Sprintf("ba_%d", i), now, now.Add(w.lasts)})
	}
	if w.lost != nil {
		if err := w.lost(w.calls); err != nil {
			return "", err
		}
	}
	return w.made[i].id, nil
}

func (w *world) slowness() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slow
}

func (w *world) running(_ context.Context, id string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.made, func(m made) bool { return m.id == id })
	if i < 0 {
		return false, errors.New("no such bulk action")
	}
	return time.Now().Add(w.shift).Before(w.made[i].ends), nil
}

// keeper returns a keeper in this world.
func (w *world) keeper(s records.Keeper) *Keeper {
	return New(Options{
		Registry: s, Create: w.create, Running: w.running, Now: w.now, Logger: slog.New(slog.DiscardHandler),
		Lag: func(d time.Duration) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.lags = append(w.lags, d)
		},
		Count: func(r Result) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.counts[r]++
		},
	})
}

// run runs a keeper until the returned function is called, or the test ends.
func run(t *testing.T, k *Keeper) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- k.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// startOne sets up a world at a moment, with one keeper that runs and one schedule.
func startOne(t *testing.T, at string, spec Spec) (*world, *Keeper, *Schedule) {
	t.Helper()
	w := newWorld()
	w.set(moment(t, at))
	k := w.keeper(memstore.New(memstore.Options{}))
	s := create(t, k, spec)
	run(t, k)
	return w, k, s
}

func create(t *testing.T, k *Keeper, spec Spec) *Schedule {
	t.Helper()
	spec.Name, spec.Tenant, spec.Template = "nightly", "growth", json.RawMessage(`{"steps":[]}`)
	if spec.At.IsZero() {
		spec.Zone = cmp.Or(spec.Zone, "UTC")
	}
	s, err := k.Create(t.Context(), spec, "key_1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// slots is the slots of which bulk actions were made, in that order, as times of day in UTC.
func (w *world) slots(t *testing.T) []string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, m := range w.made {
		_, at, _ := strings.Cut(m.key, ":")
		out = append(out, moment(t, at).Format("15:04"))
	}
	return out
}

func (w *world) wantSlots(t *testing.T, want ...string) {
	t.Helper()
	if got := w.slots(t); !slices.Equal(got, want) {
		t.Errorf("slots %q, want %q", got, want)
	}
}

func get(t *testing.T, k *Keeper, id string) *Schedule {
	t.Helper()
	s, err := k.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// history writes the history as "12:00 fired", oldest first.
func history(s *Schedule) []string {
	var out []string
	for _, f := range slices.Backward(s.History) {
		out = append(out, f.Slot.Format("15:04")+" "+string(f.Result))
	}
	return out
}
