package quota_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/store"
)

const (
	ms  = int64(time.Millisecond)
	ttl = 300 * time.Millisecond
)

// rate is 100 in any 200 ms.
var rate = store.Limit{Resource: "r", Units: 100, Window: 200 * time.Millisecond}

// newTable returns a table of rate with targets.
func newTable(t *testing.T, targets map[string]int64) *quota.Table {
	t.Helper()
	table := quota.New(rate)
	if err := table.SetTargets(1, targets); err != nil {
		t.Fatal(err)
	}
	return table
}

func wantHold(t *testing.T, table *quota.Table, now int64, h store.Holding, ttl time.Duration, want int64) {
	t.Helper()
	if got := table.Hold(now, h, ttl); got != want {
		t.Fatalf("Hold(%d ms, %+v, %v) = %d, want %d", now/ms, h, ttl, got, want)
	}
}

func wantDraw(t *testing.T, table *quota.Table, now, units int64, after time.Duration, ok bool) {
	t.Helper()
	if a, o := table.Draw(now, units); a != after || o != ok {
		t.Fatalf("Draw(%d ms, %d) = %v, %v; want %v, %v", now/ms, units, a, o, after, ok)
	}
}

func TestOneNodeGetsAllThatIsMeantForIt(t *testing.T) {
	for _, units := range []int64{0, 1, 99, 100} {
		table := newTable(t, map[string]int64{"a": units})
		wantHold(t, table, 0, store.Holding{Node: "a"}, ttl, units)
		wantHold(t, table, ms, store.Holding{Node: "a", Held: units, Used: units}, ttl, units)
	}
	wantHold(t, newTable(t, map[string]int64{"a": 1000}), 0, store.Holding{Node: "a"}, ttl, 100)
}

func TestWithoutATargetThereIsNoQuota(t *testing.T) {
	wantHold(t, newTable(t, map[string]int64{"a": 100, "c": -5}), 0, store.Holding{Node: "b"}, ttl, 0)
	wantHold(t, newTable(t, map[string]int64{"b": -5}), 0, store.Holding{Node: "b"}, ttl, 0)
}

func TestARaiseIsOnlyWhatHasLeftTheOther(t *testing.T) {
	table := newTable(t, map[string]int64{"a": 100})
	wantHold(t, table, 0, store.Holding{Node: "a"}, ttl, 100)
	if err := table.SetTargets(1, map[string]int64{"a": 40, "b": 60}); err != nil {
		t.Fatal(err)
	}
	wantHold(t, table, 1*ms, store.Holding{Node: "b"}, ttl, 0)
	wantHold(t, table, 2*ms, store.Holding{Node: "a", Held: 100, Used: 90}, ttl, 40)
	wantHold(t, table, 3*ms, store.Holding{Node: "b"}, ttl, 0) // a has not said that it obeys
	wantHold(t, table, 4*ms, store.Holding{Node: "a", Held: 40, Used: 90}, ttl, 40)
	wantHold(t, table, 5*ms, store.Holding{Node: "b"}, ttl, 10) // its window drains
	wantHold(t, table, 6*ms, store.Holding{Node: "a", Held: 40, Used: 30}, ttl, 40)
	wantHold(t, table, 7*ms, store.Holding{Node: "b", Held: 10}, ttl, 60)
}

func TestADeadNodesShareIsFreeAfterItsTimeAndAWindow(t *testing.T) {
	table := newTable(t, map[string]int64{"a": 70, "b": 100})
	wantHold(t, table, 0, store.Holding{Node: "a"}, ttl, 70)
	wantHold(t, table, 499*ms, store.Holding{Node: "b"}, ttl, 30)
	wantHold(t, table, 500*ms, store.Holding{Node: "b", Held: 30}, ttl, 100)
}

func TestWhatIsGivenBackIsFreeButForWhatWasUsed(t *testing.T) {
	table := newTable(t, map[string]int64{"a": 70, "b": 100})
	wantHold(t, table, 0, store.Holding{Node: "a"}, ttl, 70)
	wantHold(t, table, 10*ms, store.Holding{Node: "a", Held: 70, Used: 25}, 0, 0)
	wantHold(t, table, 11*ms, store.Holding{Node: "b"}, ttl, 75)
	wantHold(t, table, 210*ms, store.Holding{Node: "b", Held: 75}, ttl, 100)
}

func TestAConcurrencyIsFreeAsSoonAsItsTimeIsOver(t *testing.T) {
	table := quota.New(store.Limit{Resource: "r", Units: 8})
	if err := table.SetTargets(1, map[string]int64{"a": 5, "b": 8}); err != nil {
		t.Fatal(err)
	}
	wantHold(t, table, 0, store.Holding{Node: "a"}, ttl, 5)
	wantHold(t, table, 299*ms, store.Holding{Node: "b"}, ttl, 3)
	wantHold(t, table, 300*ms, store.Holding{Node: "b", Held: 3}, ttl, 8)
	wantDraw(t, table, 300*ms, 1, 250*time.Millisecond, false) // permits are for rates
}

func TestPermitsComeFromUnitsThatNoNodeHolds(t *testing.T) {
	table := newTable(t, map[string]int64{"a": 70})
	wantHold(t, table, 0, store.Holding{Node: "a"}, ttl, 70)
	wantDraw(t, table, 1*ms, 20, 0, true)
	wantDraw(t, table, 1*ms, 0, 0, true)
	wantDraw(t, table, 2*ms, 11, 109*time.Millisecond, false) // at 211 ms the 20 leave, and 100 ms ahead of that one may ask
	wantDraw(t, table, 3*ms, 10, 0, true)
	wantDraw(t, table, 4*ms, 31, 250*time.Millisecond, false) // never, as it is
	wantHold(t, table, 5*ms, store.Holding{Node: "a", Held: 70}, ttl, 70)
}

func TestAPermitIsBookedAheadForWhenAnotherLeaves(t *testing.T) {
	table := newTable(t, nil)
	wantDraw(t, table, 0, 60, 0, true)
	wantDraw(t, table, 50*ms, 40, 0, true)
	wantDraw(t, table, 109*ms, 30, 10*time.Millisecond, false) // 101 ms ahead
	wantDraw(t, table, 110*ms, 30, 100*time.Millisecond, true)
	wantDraw(t, table, 120*ms, 30, 90*time.Millisecond, true)
	wantDraw(t, table, 120*ms, 30, 40*time.Millisecond, false) // when the 40 leave, too
}

func TestFirstComeFirstServed(t *testing.T) {
	table := newTable(t, nil)
	wantDraw(t, table, 0, 90, 0, true)
	wantDraw(t, table, 150*ms, 50, 60*time.Millisecond, true) // when the 90 leave
	wantDraw(t, table, 151*ms, 5, 59*time.Millisecond, true)  // there is room before, but not before the 50
}

func TestANodeKeepsWhatItHoldsWhilePermitsAreBookedAhead(t *testing.T) {
	table := newTable(t, map[string]int64{"a": 70})
	wantHold(t, table, 0, store.Holding{Node: "a"}, time.Second, 70)
	wantDraw(t, table, 0, 30, 0, true)
	wantDraw(t, table, 150*ms, 30, 60*time.Millisecond, true)
	wantHold(t, table, 151*ms, store.Holding{Node: "a", Held: 70, Used: 70}, time.Second, 70)
	wantHold(t, table, 152*ms, store.Holding{Node: "a", Held: 0, Used: 0}, time.Second, 70)
}

func TestPermitsLeaveNodesTheirTargets(t *testing.T) {
	table := newTable(t, nil)
	wantHold(t, table, 0, store.Holding{Node: "a", Want: 70}, ttl, 0)
	if err := table.SetTargets(2, map[string]int64{"a": 70, "dead": 30}); err != nil {
		t.Fatal(err)
	}
	wantDraw(t, table, 0, 31, 250*time.Millisecond, false)
	wantDraw(t, table, 0, 30, 0, true)
	wantHold(t, table, ms, store.Holding{Node: "a", Want: 70}, ttl, 70)
}

func TestWhileLearningEachNodeKeepsWhatItHolds(t *testing.T) {
	table := newTable(t, map[string]int64{"a": 30, "b": 70})
	table.Learn(500 * ms)
	table.Learn(400 * ms) // does not shorten it
	wantHold(t, table, 0, store.Holding{Node: "a", Held: 30}, ttl, 30)
	wantHold(t, table, 0, store.Holding{Node: "b", Held: 0}, ttl, 0)
	wantDraw(t, table, 0, 1, 250*time.Millisecond, false)
	wantDraw(t, table, 499*ms, 1, 10*time.Millisecond, false)
	wantHold(t, table, 499*ms, store.Holding{Node: "a", Held: 30}, ttl, 30)
	wantHold(t, table, 500*ms, store.Holding{Node: "b", Held: 0}, ttl, 70)
}

func TestAnOlderLeaderIsRefused(t *testing.T) {
	table := newTable(t, nil)
	for _, tt := range []struct {
		epoch  uint64
		target int64
		err    error
		holds  int64
	}{
		{1 << 62, 10, nil, 10},
		{1<<62 - 1, 20, store.ErrStale, 10},
		{1 << 62, 30, nil, 30},
		{1<<62 + 1, 40, nil, 40},
	} {
		if err := table.SetTargets(tt.epoch, map[string]int64{"a": tt.target}); !errors.Is(err, tt.err) {
			t.Errorf("SetTargets(%d) = %v, want %v", tt.epoch, err, tt.err)
		}
		wantHold(t, table, 0, store.Holding{Node: "a"}, ttl, tt.holds)
	}
}

func TestHoldingsAreWhatTheLivingSaidLast(t *testing.T) {
	table := newTable(t, nil)
	table.Hold(0, store.Holding{Node: "c", Want: 1}, ttl)
	table.Hold(0, store.Holding{Node: "b", Want: 2}, 2*ttl)
	table.Hold(0, store.Holding{Node: "a", Want: 3}, 2*ttl)
	table.Hold(1, store.Holding{Node: "b", Held: 1, Used: 2, Want: 3, Weight: 4, Drawn: 5}, 2*ttl)
	table.Hold(1, store.Holding{Node: "a"}, 0)
	want := []store.Holding{{Node: "b", Held: 1, Used: 2, Want: 3, Weight: 4, Drawn: 5}, {Node: "c", Want: 1}}
	if got := table.Holdings(2); !slices.Equal(got, want) {
		t.Errorf("Holdings = %+v, want %+v", got, want)
	}
	if got := table.Holdings(int64(ttl)); !slices.Equal(got, want[:1]) {
		t.Errorf("Holdings when c is silent = %+v, want %+v", got, want[:1])
	}
}

// The targets are those of the old limit throughout: their leader is dead.
func TestALowerLimitIsKeptWithoutALeader(t *testing.T) {
	table := newTable(t, map[string]int64{"a": 60, "b": 30})
	wantHold(t, table, 0, store.Holding{Node: "a"}, ttl, 60)
	wantHold(t, table, 0, store.Holding{Node: "b"}, ttl, 30)
	table.SetUnits(50)
	wantDraw(t, table, ms, 1, 250*time.Millisecond, false)
	wantHold(t, table, ms, store.Holding{Node: "b", Held: 30, Used: 30}, ttl, 0)    // a has 60 out
	wantHold(t, table, 2*ms, store.Holding{Node: "a", Held: 60, Used: 60}, ttl, 20) // b has used 30
	wantHold(t, table, 3*ms, store.Holding{Node: "b", Used: 30}, ttl, 0)            // a has used 60
	wantHold(t, table, 4*ms, store.Holding{Node: "a", Held: 20, Used: 40}, ttl, 20)
	wantHold(t, table, 5*ms, store.Holding{Node: "b", Used: 5}, ttl, 10)
	wantHold(t, table, 6*ms, store.Holding{Node: "a", Held: 20, Used: 20}, ttl, 34) // its share, rounded up
	wantHold(t, table, 7*ms, store.Holding{Node: "b", Held: 10}, ttl, 16)
}

func TestALowerConcurrencyWaitsForTasksInFlight(t *testing.T) {
	table := quota.New(store.Limit{Resource: "r", Units: 30})
	if err := table.SetTargets(1, map[string]int64{"a": 10, "b": 10, "c": 10}); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"a", "b", "c"} {
		wantHold(t, table, 0, store.Holding{Node: node}, ttl, 10)
	}
	table.SetUnits(2)
	for _, node := range []string{"a", "b", "c"} {
		wantHold(t, table, ms, store.Holding{Node: node, Held: 10, Used: 10}, ttl, 0)
	}
	wantHold(t, table, 2*ms, store.Holding{Node: "a"}, ttl, 0) // b and c have 20 in flight
	wantHold(t, table, 3*ms, store.Holding{Node: "b"}, ttl, 0)
	wantHold(t, table, 4*ms, store.Holding{Node: "c", Used: 1}, ttl, 1)
	wantHold(t, table, 5*ms, store.Holding{Node: "a"}, ttl, 1)
	wantHold(t, table, 6*ms, store.Holding{Node: "b"}, ttl, 0) // nothing is left
}

// BenchmarkTable is a second of a busy resource: 100,000 permits drawn one by one.
func BenchmarkTable(b *testing.B) {
	for _, nodes := range []int{1, 16, 256} {
		b.Run(fmt.Sprint("hold/nodes=", nodes), func(b *testing.B) {
			table := quota.New(store.Limit{Units: 100_000, Window: time.Second})
			holdings := make([]store.Holding, nodes)
			for i := range holdings {
				holdings[i].Node = fmt.Sprint("node-", i)
			}
			now := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				now += ms
				table.Hold(now, holdings[now/ms%int64(nodes)], time.Second)
			}
		})
	}
	b.Run("draw", func(b *testing.B) {
		table := quota.New(store.Limit{Units: 100_000, Window: time.Second})
		now := int64(0)
		b.ReportAllocs()
		for b.Loop() {
			now += 10_000
			table.Draw(now, 1)
		}
	})
}
