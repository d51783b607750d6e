package callback

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

var errDead = errors.New("the process is dead")

// mortal is a store as a process sees it that dies at its call number left: that
// one and all after it fail. A write at that moment has its effect if late.
type mortal struct {
	records.Keeper
	late bool

	mu   sync.Mutex
	left int
	dead bool
}

// dies reports whether this call is the last, and whether it comes after it.
func (m *mortal) dies() (now, before bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return false, true
	}
	m.left--
	m.dead = m.left <= 0
	return m.dead, false
}

func (m *mortal) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	now, before := m.dies()
	if before || now && !m.late {
		return nil, errDead
	}
	held, err := m.Keeper.Swap(ctx, name, old, value)
	if now {
		return nil, errDead
	}
	return held, err
}

func (m *mortal) Lookup(ctx context.Context, name string) ([]byte, error) {
	if now, before := m.dies(); now || before {
		return nil, errDead
	}
	return m.Keeper.Lookup(ctx, name)
}

func (m *mortal) List(ctx context.Context, prefix, after string, limit int) ([]store.Record, error) {
	if now, before := m.dies(); now || before {
		return nil, errDead
	}
	return m.Keeper.List(ctx, prefix, after, limit)
}

// A node dies at every call of the store in turn, before and after its effect. A
// caller whose Note did not return notes the event again on the next node, at
// another time of day. There is one delivery, it is made, and all of its messages
// are alike.
func TestACrashAtAnyStepLosesNothing(t *testing.T) {
	for _, late := range []bool{false, true} {
		steps := 0
		for survived := false; !survived; {
			steps++
			survived = crashAt(t, steps, late)
		}
		if steps < 12 {
			t.Errorf("late=%v: only %d steps", late, steps)
		}
		t.Logf("late=%v: %d steps", late, steps)
	}
}

// crashAt reports whether there was no such step.
func crashAt(t *testing.T, step int, late bool) (survived bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, r := memstore.New(memstore.Options{}), &receiver{}
		r.say = func(no int, _ *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			if no == 1 {
				return answer(500, ""), nil // so that there is a second attempt to die in
			}
			return answer(200, ""), nil
		}
		register(t, open(t, s, r, nil), hookURL)
		dying := &mortal{Keeper: s, late: late, left: step}
		a := open(t, dying, r, func(o *Options) { o.ScanEvery = time.Hour })
		stop := start(t, a)
		synctest.Wait()
		noted := a.Note(t.Context(), completed("ba_1"), nil) == nil
		time.Sleep(10 * time.Second)
		stop()
		survived = !dying.dead

		b := open(t, s, r, nil)
		start(t, b)
		if !noted {
			time.Sleep(time.Minute)
			note(t, b, completed("ba_1"), nil)
		}
		time.Sleep(10 * time.Minute)
		d := only(t, b, "ba_1")
		if d.State != Delivered || d.Claim != nil {
			t.Errorf("step %d, late=%v: delivery = %+v, want delivered", step, late, d)
		}
		calls := r.got()
		if len(calls) < 2 || len(calls) > 4 {
			t.Errorf("step %d, late=%v: %d calls", step, late, len(calls))
		}
		alike(t, calls)
		if left := pendingNotices(t, s); left != 0 {
			t.Errorf("step %d, late=%v: %d notices are left", step, late, left)
		}
	})
	return survived
}

// flaky fails one in three calls of the store, with or without their effect.
type flaky struct {
	records.Keeper

	mu     sync.Mutex
	random *rand.Rand
}

func (f *flaky) fails() (fails, late bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(3) == 0, f.random.IntN(2) == 0
}

func (f *flaky) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	fails, late := f.fails()
	if fails && !late {
		return nil, store.ErrUnknown
	}
	held, err := f.Keeper.Swap(ctx, name, old, value)
	if fails {
		return nil, store.ErrUnknown
	}
	return held, err
}

func (f *flaky) Lookup(ctx context.Context, name string) ([]byte, error) {
	if fails, _ := f.fails(); fails {
		return nil, errors.New("not reachable")
	}
	return f.Keeper.Lookup(ctx, name)
}

func TestAFlakyStoreDelaysButLosesNothing(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			s, r := memstore.New(memstore.Options{}), &receiver{}
			n := open(t, &flaky{Keeper: s, random: rand.New(rand.NewPCG(seed, 1))}, r, nil)
			start(t, n)
			noted := false
			for range 1000 {
				if noted = n.Note(t.Context(), completed("ba_1"), &Target{URL: hookURL}) == nil; noted {
					break
				}
				time.Sleep(time.Second)
			}
			if !noted {
				t.Fatalf("seed %d: Note never succeeds", seed)
			}
			time.Sleep(time.Hour)
			d := only(t, open(t, s, r, nil), "ba_1")
			if d.State != Delivered || len(r.got()) < 1 {
				t.Errorf("seed %d: delivery = %+v after %d calls, want delivered", seed, d, len(r.got()))
			}
			alike(t, r.got())
		})
	}
}

// blind cannot read events.
type blind struct {
	records.Keeper
	err   error
	tried atomic.Int64
}

func (b *blind) Lookup(ctx context.Context, name string) ([]byte, error) {
	if strings.HasPrefix(name, "event/") && b.err != nil {
		b.tried.Add(1)
		return nil, b.err
	}
	return b.Keeper.Lookup(ctx, name)
}

func TestEventsThatCannotBeReadAreNotAskedForWithoutRest(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		state State
		most  int64
	}{
		{"because the store is away", errors.New("not reachable"), Pending, 15},
		{"because it is damaged", store.ErrCorrupt, Failed, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r := &blind{Keeper: memstore.New(memstore.Options{})}, &receiver{}
				n := open(t, s, r, nil)
				note(t, n, completed("ba_1"), &Target{URL: hookURL})
				s.err = tt.err
				start(t, n)
				time.Sleep(time.Minute)
				synctest.Wait() // a try at this moment has given its claim back
				d := only(t, n, "ba_1")
				if d.State != tt.state || s.tried.Load() < 1 || s.tried.Load() > tt.most {
					t.Errorf("delivery is %s after %d reads, want %s after 1 to %d", d.State, s.tried.Load(), tt.state, tt.most)
				}
				if d.State == Pending && (d.Tries != 0 || d.Claim != nil) {
					t.Errorf("delivery = %+v, want no attempt counted and no claim", d)
				}
			})
		})
	}
}

// sluggish takes a while for some of its writes of deliveries.
type sluggish struct {
	records.Keeper
	writes atomic.Int64
}

func (s *sluggish) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	if strings.HasPrefix(name, "delivery/") && s.writes.Add(1) == 2 { // the first makes it, the second claims it
		time.Sleep(28 * time.Second)
	}
	return s.Keeper.Swap(ctx, name, old, value)
}

func TestNothingIsSentUnderAClaimThatMayEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := memstore.New(memstore.Options{}), &receiver{}
		r.say = func(int, *http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Second)
			return answer(200, ""), nil
		}
		slow := open(t, &sluggish{Keeper: s}, r, nil)
		start(t, slow)
		start(t, open(t, s, r, func(o *Options) {
			o.ScanEvery = 100 * time.Millisecond
			o.Owns = func(string) bool { return r.got() != nil }
		}))
		note(t, slow, completed("ba_1"), &Target{URL: hookURL})
		time.Sleep(time.Hour)
		if d := only(t, slow, "ba_1"); d.State != Delivered || len(r.got()) != 1 {
			t.Errorf("delivery is %s after %d calls, want delivered after 1", d.State, len(r.got()))
		}
	})
}

func TestASecretThatCannotBeOpenedIsTriedBySchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := memstore.New(memstore.Options{}), &receiver{}
		note(t, open(t, s, r, nil), completed("ba_1"), &Target{URL: hookURL, Secret: NewSecret()})
		other, err := vault.New(vault.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t, open(t, s, r, func(o *Options) { o.Sealer = other }))
		time.Sleep(time.Minute)
		stop()
		n := open(t, s, r, nil)
		if d := only(t, n, "ba_1"); d.State != Pending || d.Tries != 3 || d.Attempts[0].Code != CodeSecret || len(r.got()) != 0 {
			t.Errorf("delivery = %+v after %d calls, want pending after 3 tries, nothing sent", d, len(r.got()))
		}
		start(t, n) // the operator has brought the key back
		time.Sleep(time.Hour)
		if d := only(t, n, "ba_1"); d.State != Delivered {
			t.Errorf("delivery is %s, want delivered", d.State)
		}
	})
}
