package records_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/storetest"
)

// scripted loses answers: of the first swaps it makes what its list says of them.
type scripted struct {
	records.Keeper
	plan []func(swap func() ([]byte, error)) ([]byte, error)
}

func (s *scripted) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	swap := func() ([]byte, error) { return s.Keeper.Swap(ctx, name, old, value) }
	if len(s.plan) == 0 {
		return swap()
	}
	step := s.plan[0]
	s.plan = s.plan[1:]
	return step(swap)
}

// What can become of a swap.
func lostAnswer(swap func() ([]byte, error)) ([]byte, error) {
	_, _ = swap()
	return nil, store.ErrUnknown
}

func lostCall(func() ([]byte, error)) ([]byte, error) { return nil, store.ErrUnknown }

func down(func() ([]byte, error)) ([]byte, error) { return nil, store.ErrUnavailable }

// then makes another writer write after a swap.
func then(step func(func() ([]byte, error)) ([]byte, error), other func()) func(func() ([]byte, error)) ([]byte, error) {
	return func(swap func() ([]byte, error)) ([]byte, error) {
		held, err := step(swap)
		other()
		return held, err
	}
}

func TestALostAnswerIsFoundOutWhereThatIsCertain(t *testing.T) {
	type steps = []func(func() ([]byte, error)) ([]byte, error)
	insert := func(t *records.Table[counter]) error {
		_, err := t.Insert(context.Background(), "new", counter{N: 1})
		return err
	}
	update := func(t *records.Table[counter]) error {
		_, err := t.Update(context.Background(), "old", increment)
		return err
	}
	remove := func(t *records.Table[counter]) error { return t.Delete(context.Background(), "old") }
	for _, tt := range []struct {
		name  string
		do    func(*records.Table[counter]) error
		plan  func(others *records.Table[counter]) steps
		err   error
		old   int // afterwards, -1 for none; it was 10
		fresh int
	}{
		{"an update whose answer is lost was made", update, func(*records.Table[counter]) steps {
			return steps{lostAnswer}
		}, nil, 11, -1},
		{"an update that is lost is made again", update, func(*records.Table[counter]) steps {
			return steps{lostCall}
		}, nil, 11, -1},
		{"answers can be lost twice", update, func(*records.Table[counter]) steps {
			return steps{lostAnswer, lostAnswer}
		}, nil, 11, -1},
		{"and not for ever", update, func(*records.Table[counter]) steps {
			return steps{lostAnswer, lostAnswer, lostAnswer}
		}, store.ErrUnknown, 11, -1},
		{"a store that is down afterwards leaves it unknown", update, func(*records.Table[counter]) steps {
			return steps{lostAnswer, down, down}
		}, store.ErrUnknown, 11, -1},
		{"a store that is down before leaves nothing unknown", update, func(*records.Table[counter]) steps {
			return steps{down}
		}, store.ErrUnavailable, 10, -1},
		{"an update on which others have built was made", update, func(o *records.Table[counter]) steps {
			return steps{then(lostAnswer, func() { _ = update(o); _ = update(o) })}
		}, nil, 13, -1},
		{"an update that others have passed is made on theirs", update, func(o *records.Table[counter]) steps {
			return steps{then(lostCall, func() { _ = update(o); _ = update(o) })}
		}, nil, 13, -1},
		{"an update of what was removed since is unknown", update, func(o *records.Table[counter]) steps {
			return steps{then(lostAnswer, func() { _ = remove(o) })}
		}, store.ErrUnknown, -1, -1},
		{"an insert whose answer is lost was made", insert, func(*records.Table[counter]) steps {
			return steps{lostAnswer}
		}, nil, 10, 1},
		{"an insert that is lost is not made again: it may have been there", insert, func(*records.Table[counter]) steps {
			return steps{lostCall}
		}, store.ErrUnknown, 10, -1},
		{"an insert that was removed at once does not come back", insert, func(o *records.Table[counter]) steps {
			return steps{then(lostAnswer, func() { _ = o.Delete(context.Background(), "new") })}
		}, store.ErrUnknown, 10, -1},
		{"a removal whose answer is lost was made", remove, func(*records.Table[counter]) steps {
			return steps{lostAnswer}
		}, nil, -1, -1},
		{"a removal that others have passed is made on theirs", remove, func(o *records.Table[counter]) steps {
			return steps{then(lostCall, func() { _ = update(o) })}
		}, nil, -1, -1},
		{"a removal takes nothing that was made anew", remove, func(o *records.Table[counter]) steps {
			return steps{then(lostAnswer, func() { _, _ = o.Insert(context.Background(), "old", counter{N: 5}) })}
		}, store.ErrUnknown, 5, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			others, s := newTable(t)
			must[records.Entry[counter]](t)(others.Insert(t.Context(), "old", counter{N: 10}))
			err := tt.do(records.New[counter](&scripted{s, tt.plan(others)}, "counter"))
			if !errors.Is(err, tt.err) || errors.Is(tt.err, store.ErrUnavailable) && errors.Is(err, store.ErrUnknown) {
				t.Errorf("error = %v, want %v", err, tt.err)
			}
			for name, want := range map[string]int{"old": tt.old, "new": tt.fresh} {
				if got := number(t, others, name); got != want {
					t.Errorf("%s = %d, want %d", name, got, want)
				}
			}
		})
	}
}

// number is what a record holds, -1 if there is none.
func number(t *testing.T, table *records.Table[counter], name string) int {
	t.Helper()
	e, err := table.Get(t.Context(), name)
	if errors.Is(err, weir.ErrNotFound) {
		return -1
	}
	if err != nil {
		t.Fatal(err)
	}
	return e.Value.N
}

// TestIncrementsOnAStoreThatLosesAnswersAreCounted checks that every answer is
// true: what returned nil was counted once, what returned ErrUnknown once at most.
func TestIncrementsOnAStoreThatLosesAnswersAreCounted(t *testing.T) {
	mem := memstore.New(memstore.Options{})
	defer mem.Close()
	sound := records.New[counter](mem, "counter")
	must[records.Entry[counter]](t)(sound.Insert(t.Context(), "a", counter{}))
	var done, unknown atomic.Int64
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		table := records.New[counter](&storetest.Flaky{Store: mem, Fail: func(c storetest.Call) storetest.Fault {
			switch {
			case c.Op == storetest.OpSwap && random.IntN(3) == 0:
				return storetest.Fault{Lost: true}
			case c.Op == storetest.OpSwap && random.IntN(3) == 0:
				return storetest.Fault{Before: store.ErrUnknown}
			}
			return storetest.Fault{}
		}}, "counter")
		wg.Go(func() {
			for range 200 {
				switch _, err := table.Update(t.Context(), "a", increment); {
				case err == nil:
					done.Add(1)
				case errors.Is(err, store.ErrUnknown):
					unknown.Add(1)
				default:
					t.Errorf("Update() = %v", err)
				}
			}
		})
	}
	wg.Wait()
	got, sure, most := int64(number(t, sound, "a")), done.Load(), done.Load()+unknown.Load()
	if got < sure || got > most || sure == 0 {
		t.Errorf("count = %d, want between %d and %d", got, sure, most)
	}
	t.Logf("%d known, %d unknown, %d counted", sure, unknown.Load(), got)
}

func TestAContextThatEndsIsNotAskedAgain(t *testing.T) {
	others, s := newTable(t)
	must[records.Entry[counter]](t)(others.Insert(t.Context(), "old", counter{}))
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	step := then(lostAnswer, func() { asked++; cancel() })
	table := records.New[counter](&scripted{s, []func(func() ([]byte, error)) ([]byte, error){step, step, step}}, "counter")
	_, err := table.Update(ctx, "old", increment)
	wantErr(t, "Update", err, store.ErrUnknown)
	if asked != 1 {
		t.Errorf("the store was asked %d times, want 1", asked)
	}
}
