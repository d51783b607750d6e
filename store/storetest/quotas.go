package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/store"
)

// Limits of most cases: 100 in any window, and of permits 10 in any longer one.
var (
	shared  = store.Limit{Resource: "mail", Units: 100, Window: 50 * time.Millisecond}
	permits = store.Limit{Resource: "permits", Units: 10, Window: 300 * time.Millisecond}
)

var quotaCases = []testCase{
	{"a quota is at most the target", func(t *testing.T, s store.Store) {
		aim(t, s, shared, 1, map[string]int64{"a": 30})
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a"}, long), 30)
		want(t, "quota of a, again", hold(t, s, shared, store.Holding{Node: "a", Held: 30, Used: 30}, long), 30)
		want(t, "quota of b, without a target", hold(t, s, shared, store.Holding{Node: "b"}, long), 0)
	}},
	{"a node that is not named any more gets nothing", func(t *testing.T, s store.Store) {
		aim(t, s, shared, 1, map[string]int64{"a": 30})
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a"}, long), 30)
		must(t, s.SetTargets(t.Context(), shared, 1, map[string]int64{"b": 100}))
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a", Held: 30}, long), 0)
		want(t, "quota of b", hold(t, s, shared, store.Holding{Node: "b"}, long), 70) // a has not confirmed its lower quota
	}},
	{"quotas together are never above the limit", func(t *testing.T, s store.Store) {
		aim(t, s, shared, 1, map[string]int64{"a": 1000, "b": 70, "c": 70})
		want(t, "quota of b", hold(t, s, shared, store.Holding{Node: "b"}, long), 70)
		want(t, "quota of c", hold(t, s, shared, store.Holding{Node: "c"}, long), 30)
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a"}, long), 0)
	}},
	{"nodes that ask at once get the limit and no more", holdAtOnce},
	{"what one node gains has left another", func(t *testing.T, s store.Store) {
		aim(t, s, shared, 1, map[string]int64{"a": 100})
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a"}, long), 100)
		must(t, s.SetTargets(t.Context(), shared, 1, map[string]int64{"a": 40, "b": 60}))
		want(t, "quota of b", hold(t, s, shared, store.Holding{Node: "b"}, long), 0)
		want(t, "lowered quota of a", hold(t, s, shared, store.Holding{Node: "a", Held: 100, Used: 90}, long), 40)
		want(t, "quota of b before a obeys", hold(t, s, shared, store.Holding{Node: "b"}, long), 0)
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a", Held: 40, Used: 90}, long), 40)
		want(t, "quota of b while a's window drains", hold(t, s, shared, store.Holding{Node: "b"}, long), 10)
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a", Held: 40, Used: 30}, long), 40)
		want(t, "quota of b", hold(t, s, shared, store.Holding{Node: "b", Held: 10}, long), 60)
	}},
	{"a silent node's quota is free after its time and a window", func(t *testing.T, s store.Store) {
		aim(t, s, shared, 1, map[string]int64{"a": 70, "b": 100})
		asked := time.Now()
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a"}, brief), 70)
		freed(t, s, shared, "b", asked.Add(brief+shared.Window))
	}},
	{"a silent node's part of a concurrency is free after its time", func(t *testing.T, s store.Store) {
		slots := store.Limit{Resource: "mail", Units: 100}
		aim(t, s, slots, 1, map[string]int64{"a": 70, "b": 100})
		asked := time.Now()
		want(t, "quota of a", hold(t, s, slots, store.Holding{Node: "a"}, brief), 70)
		freed(t, s, slots, "b", asked.Add(brief))
	}},
	{"what is given back is free at once", func(t *testing.T, s store.Store) {
		aim(t, s, shared, 1, map[string]int64{"a": 70, "b": 100})
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a"}, long), 70)
		want(t, "quota of b", hold(t, s, shared, store.Holding{Node: "b"}, long), 30)
		want(t, "quota of a, given back", hold(t, s, shared, store.Holding{Node: "a", Held: 70}, 0), 0)
		want(t, "quota of b", hold(t, s, shared, store.Holding{Node: "b", Held: 30}, long), 100)
	}},
	{"what was used before it was given back is free after a window", func(t *testing.T, s store.Store) {
		aim(t, s, shared, 1, map[string]int64{"a": 70, "b": 100})
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a"}, long), 70)
		gave := time.Now()
		hold(t, s, shared, store.Holding{Node: "a", Held: 70, Used: 25}, 0)
		freed(t, s, shared, "b", gave.Add(shared.Window))
	}},
	{"permits are drawn until nothing is left", drawAll},
	{"permits are units that no node holds, and quotas units that no node draws", func(t *testing.T, s store.Store) {
		l := permits
		aim(t, s, l, 1, map[string]int64{"a": 7})
		want(t, "quota of a", hold(t, s, l, store.Holding{Node: "a"}, long), 7)
		_, ok := draw(t, s, l, 4)
		want(t, "more than is free is drawn", ok, false)
		asked := time.Now()
		after, ok := draw(t, s, l, 3)
		want(t, "what is free is drawn", ok, true)
		want(t, "its time", after, 0)
		must(t, s.SetTargets(t.Context(), l, 1, map[string]int64{"a": 10}))
		freed(t, s, l, "a", asked.Add(l.Window+store.DrawFor))
	}},
	{"permits do not keep a node from its target", func(t *testing.T, s store.Store) {
		aim(t, s, permits, 1, nil)
		want(t, "quota of a", hold(t, s, permits, store.Holding{Node: "a", Want: 10}, long), 0)
		must(t, s.SetTargets(t.Context(), permits, 1, map[string]int64{"a": 8}))
		_, ok := draw(t, s, permits, 3)
		want(t, "what is meant for a is drawn", ok, false)
		_, ok = draw(t, s, permits, 2)
		want(t, "the rest is drawn", ok, true)
		want(t, "quota of a", hold(t, s, permits, store.Holding{Node: "a"}, long), 8)
	}},
	{"of a concurrency nothing is drawn", func(t *testing.T, s store.Store) {
		slots := store.Limit{Resource: "mail", Units: 100}
		aim(t, s, slots, 1, nil)
		after, ok := draw(t, s, slots, 1)
		want(t, "drawn", ok, false)
		wantAgain(t, after)
	}},
	{"the targets of an older leader are refused", func(t *testing.T, s store.Store) {
		const newest = 1<<63 + 1 // a number of 53 bits could not distinguish it from its neighbours
		aim(t, s, shared, newest, map[string]int64{"a": 30})
		wantErr(t, s.SetTargets(t.Context(), shared, newest-1, map[string]int64{"a": 40}), store.ErrStale)
		wantErr(t, s.SetTargets(t.Context(), shared, 9, map[string]int64{"a": 50}), store.ErrStale)
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a"}, long), 30)
		must(t, s.SetTargets(t.Context(), shared, newest+1, map[string]int64{"a": 60}))
		want(t, "quota of a", hold(t, s, shared, store.Holding{Node: "a"}, long), 60)
	}},
	{"holdings are what nodes said last", func(t *testing.T, s store.Store) {
		aim(t, s, shared, 1, map[string]int64{"b": 5})
		want(t, "holdings", fmt.Sprint(holdings(t, s, shared)), "[]")
		b := store.Holding{Node: "b 2", Held: 1, Used: 2, Want: 1 << 40, Weight: 4, Drawn: 5}
		hold(t, s, shared, store.Holding{Node: "b 2", Want: 7}, long)
		hold(t, s, shared, b, long)
		hold(t, s, shared, store.Holding{Node: "a", Want: 3}, long)
		want(t, "holdings", fmt.Sprint(holdings(t, s, shared)), fmt.Sprint([]store.Holding{{Node: "a", Want: 3}, b}))
		hold(t, s, shared, store.Holding{Node: "a"}, 0)
		want(t, "holdings without a", fmt.Sprint(holdings(t, s, shared)), fmt.Sprint([]store.Holding{b}))
	}},
	{"a silent node leaves the holdings", func(t *testing.T, s store.Store) {
		aim(t, s, shared, 1, nil)
		hold(t, s, shared, store.Holding{Node: "a"}, brief)
		hold(t, s, shared, store.Holding{Node: "b"}, long)
		eventually(t, "a is silent and listed", func() bool { return len(holdings(t, s, shared)) == 1 })
		want(t, "who is left", holdings(t, s, shared)[0].Node, "b")
	}},
	{"resources, and the limits of one, are apart", func(t *testing.T, s store.Store) {
		var limits []store.Limit
		for _, resource := range []string{"mail", "", "{mail}", "mail:50ms}:meta", "\x00 \xff"} {
			limits = append(limits, store.Limit{Resource: resource, Units: 10, Window: shared.Window},
				store.Limit{Resource: resource, Units: 10})
		}
		for i, l := range limits {
			target := int64(i + 1)
			aim(t, s, l, uint64(100-i), map[string]int64{"a": target})
			want(t, fmt.Sprintf("quota of %+v", l), hold(t, s, l, store.Holding{Node: "a"}, long), target)
			want(t, fmt.Sprintf("number of holdings of %+v", l), len(holdings(t, s, l)), 1)
		}
	}},
	{"the quotas of a closed store say so", func(t *testing.T, s store.Store) {
		must(t, s.Close())
		_, err := s.Hold(t.Context(), shared, store.Holding{Node: "a"}, long)
		wantErr(t, err, store.ErrClosed)
		_, _, err = s.Draw(t.Context(), shared, 1)
		wantErr(t, err, store.ErrClosed)
		_, err = s.Holdings(t.Context(), shared)
		wantErr(t, err, store.ErrClosed)
		wantErr(t, s.SetTargets(t.Context(), shared, 1, nil), store.ErrClosed)
	}},
}

// holdAtOnce runs nodes whose targets add up to twice the limit.
func holdAtOnce(t *testing.T, s store.Store) {
	const nodes = 8
	targets := map[string]int64{}
	for i := range nodes {
		targets[fmt.Sprint(i)] = 2 * shared.Units / nodes
	}
	aim(t, s, shared, 1, targets)
	got := make([]int64, nodes)
	ask := func(i int) {
		q, err := s.Hold(t.Context(), shared, store.Holding{Node: fmt.Sprint(i), Held: got[i]}, long)
		if err != nil {
			t.Errorf("Hold() = %v", err)
		}
		got[i] = q
	}
	var wg sync.WaitGroup
	for i := range nodes {
		wg.Go(func() {
			for range 5 {
				ask(i)
			}
		})
	}
	wg.Wait()
	sum := func() (n int64) {
		for _, q := range got {
			n += q
		}
		return n
	}
	if n := sum(); n > shared.Units {
		t.Errorf("sum of all quotas = %d, the limit is %d", n, shared.Units)
	}
	for i := range 10 * nodes { // what one node has given up, another gets when it asks again
		ask(i % nodes)
	}
	want(t, "sum of all quotas", sum(), shared.Units)
}

// permit is the time of a permit as far as it is known from outside.
type permit struct{ from, to time.Time }

// drawAll draws single permits for a few windows, faster than they come, and checks their
// times: the limit holds in any window, and little of it is lost.
func drawAll(t *testing.T, s store.Store) {
	aim(t, s, permits, 1, nil)
	n := int(permits.Units)
	var drawn []permit
	for tries := 1; ; tries++ {
		more, refused, slowest := drawFor(t, s, 3*permits.Window)
		drawn = append(drawn, more...)
		if refused > 0 && len(more) >= 2*n {
			break
		}
		if slowest < permits.Window/10 || tries == 20 { // else the machine was slow, not the store
			t.Fatalf("%d permits drawn and %d refused in three windows, want at least %d and some", len(more), refused, 2*n)
		}
		<-time.After(permits.Window + store.DrawFor) // each attempt starts with an empty window
	}
	for i := n; i < len(drawn); i++ {
		if apart := drawn[i].to.Sub(drawn[i-n].from); apart < permits.Window+store.DrawFor {
			t.Fatalf("permits %d and %d are at most %v apart, want at least %v", i-n, i, apart, permits.Window+store.DrawFor)
		}
	}
	if !slices.IsSortedFunc(drawn, func(a, b permit) int { return a.to.Compare(b.from) }) {
		t.Fatalf("permits are not in the order in which they were asked for: %v", drawn)
	}
}

// drawFor draws permits for the given time. It also returns how often it was refused, and the longest time of one round.
func drawFor(t *testing.T, s store.Store, span time.Duration) (drawn []permit, refused int, slowest time.Duration) {
	t.Helper()
	for end := time.Now().Add(span); time.Now().Before(end); {
		asked := time.Now()
		after, ok := draw(t, s, permits, 1)
		slowest = max(slowest, time.Since(asked))
		if !ok {
			refused++
			wantAgain(t, after)
			<-time.After(5 * time.Millisecond)
			slowest = max(slowest, time.Since(asked))
			continue
		}
		if after < 0 || after > store.DrawAhead {
			t.Fatalf("the permit's time is in %v, want at most %v", after, store.DrawAhead)
		}
		drawn = append(drawn, permit{asked.Add(after), time.Now().Add(after)})
	}
	return drawn, refused, slowest
}

// aim sets targets, and waits until a new store has learned what the nodes hold.
func aim(t fataler, s store.Store, l store.Limit, epoch uint64, targets map[string]int64) {
	t.Helper()
	must(t, s.SetTargets(t.Context(), l, 0, map[string]int64{"learner": 1}))
	eventually(t, "the store learns", func() bool {
		return hold(t, s, l, store.Holding{Node: "learner"}, time.Millisecond) == 1
	})
	hold(t, s, l, store.Holding{Node: "learner"}, 0)
	must(t, s.SetTargets(t.Context(), l, epoch, targets))
}

// freed waits until a node has all of a limit, which must not be before a moment.
func freed(t fataler, s store.Store, l store.Limit, node string, moment time.Time) {
	t.Helper()
	var got int64
	eventually(t, "a part of the limit is not free", func() bool {
		got = hold(t, s, l, store.Holding{Node: node, Held: got}, long)
		return got == l.Units
	})
	if early := time.Until(moment); early > 0 {
		t.Fatalf("%s has all of the limit %v too early", node, early)
	}
}

// eventually waits for something to end.
func eventually(t fataler, what string, over func() bool) {
	t.Helper()
	for began := time.Now(); !over(); <-time.After(brief / 20) {
		if time.Since(began) > patience {
			t.Fatalf("after %v, still: %s", patience, what)
		}
	}
}

// wantAgain checks the time after which a refused Draw may be repeated.
func wantAgain(t fataler, after time.Duration) {
	t.Helper()
	if after <= 0 || after > time.Second {
		t.Fatalf("ask again after %v, want a moment that is neither at once nor far off", after)
	}
}

func hold(t fataler, s store.Store, l store.Limit, h store.Holding, ttl time.Duration) int64 {
	t.Helper()
	quota, err := s.Hold(t.Context(), l, h, ttl)
	must(t, err)
	return quota
}

func draw(t fataler, s store.Store, l store.Limit, units int64) (time.Duration, bool) {
	t.Helper()
	after, ok, err := s.Draw(t.Context(), l, units)
	must(t, err)
	return after, ok
}

func holdings(t fataler, s store.Store, l store.Limit) []store.Holding {
	t.Helper()
	list, err := s.Holdings(t.Context(), l)
	must(t, err)
	return list
}
