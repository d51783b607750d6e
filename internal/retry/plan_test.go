package retry

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const second = int64(time.Second)

// start is a moment like any other: now, in unix nanoseconds, on a slot's boundary.
const start = 1_800_000_000 * second

// ledger writes down what a plan granted, by slot.
type ledger struct {
	cost  map[int64]float64
	tasks map[int64]int
}

func newLedger() *ledger { return &ledger{map[int64]float64{}, map[int64]int{}} }

func (l *ledger) add(at int64, cost int) {
	l.cost[at/int64(Slot)] += float64(cost)
	l.tasks[at/int64(Slot)]++
}

// check fails if a slot that has several tasks is above room.
func (l *ledger) check(t rapid.TB, room float64) {
	t.Helper()
	for slot, cost := range l.cost {
		if l.tasks[slot] > 1 && cost > room*(1+1e-6) {
			t.Fatalf("slot %d holds %d tasks of cost %v, room is %v", slot, l.tasks[slot], cost, room)
		}
	}
}

// checkWindows fails if the retries that start in any stretch of slots cost
// more than the share allows, but for the one task that may stick out of it.
func (l *ledger) checkWindows(t rapid.TB, room, largest float64) {
	t.Helper()
	var slots []int64
	for slot := range l.cost {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	for i := range slots {
		sum := 0.0
		for _, slot := range slots[i:] {
			sum += l.cost[slot]
			if allowed := room*float64(slot-slots[i]+1) + largest; sum > allowed*(1+1e-6) {
				t.Fatalf("slots %d to %d hold cost %v, want at most %v", slots[i], slot, sum, allowed)
			}
		}
	}
}

func TestSlotsKeepTheirShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Plan
		l := newLedger()
		rate := rapid.Float64Range(0.5, 5000).Draw(t, "rate")
		now, largest := start, 0
		last := map[int64]int64{} // due time -> start of the latest task with it
		for range rapid.IntRange(1, 150).Draw(t, "tasks") {
			now += rapid.SampledFrom([]int64{0, 0, 0, second / 30, second}).Draw(t, "later")
			due := now - now%second + rapid.Int64Range(0, 40).Draw(t, "due")*second/8
			cost := rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, 200)).Draw(t, "cost")
			at := p.Reserve(now, due, cost, rate)
			if at < due || at < now || at%int64(Slot) != 0 {
				t.Fatalf("Reserve(now %d, due %d) = %d, want a slot from there on", now-start, due-start, at-start)
			}
			if at < last[due] {
				t.Fatalf("task due at %d starts at %d, before an earlier one at %d", due-start, at-start, last[due]-start)
			}
			last[due], largest = at, max(largest, cost)
			l.add(at, cost)
		}
		room := Share * rate * Slot.Seconds()
		l.check(t, room)
		l.checkWindows(t, room, float64(largest))
		checkRuns(t, &p)
	})
}

// checkRuns fails if the plan's runs overlap or run backwards.
func checkRuns(t rapid.TB, p *Plan) {
	t.Helper()
	for i, r := range p.runs {
		if r.from > r.tail || i > 0 && r.from <= p.runs[i-1].tail {
			t.Fatalf("run %d, from %d to %d, overlaps the one before or runs backwards", i, r.from, r.tail)
		}
	}
}

func TestABurstSpreadsOverItsShareOfTheRate(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
		cost int
		rate float64
		slop float64 // how much longer than ideal it may take
	}{
		{"single items on a fast resource", 100_000, 1, 5000, 1},
		{"batches that fill whole slots", 1000, 10, 500, 1},
		{"batches larger than a slot", 1000, 100, 500, 1},
		{"batches that leave a tenth of a slot", 1000, 3, 500, 10.0 / 9},
		{"batches of just over half a slot", 1000, 6, 500, 10.0 / 6},
		{"single items on a slow resource", 300, 1, 0.5, 1},
		{"batches that are not a whole number of slots", 1000, 25, 500, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Plan
			end := start
			for range tt.n {
				at := p.Reserve(start, start, tt.cost, tt.rate)
				if at < end {
					t.Fatalf("a later task starts at %d, before %d", at-start, end-start)
				}
				end = at
			}
			ideal := float64(tt.n*tt.cost) / (Share * tt.rate)
			got := time.Duration(end - start).Seconds()
			last := max(Slot.Seconds(), float64(tt.cost)/(Share*tt.rate)) // the last task's own room
			if got < ideal-2*last || got > ideal*tt.slop+2*last {
				t.Errorf("burst starts within %.1fs, want %.1fs to %.1fs", got, ideal, ideal*tt.slop)
			}
		})
	}
}

func TestReserve(t *testing.T) {
	slot := int64(Slot)
	for _, tt := range []struct {
		name     string
		now, due int64
		rate     float64
		want     int64
	}{
		{"unlimited starts when due", start, start + 12345, 0, start + 12345},
		{"a due time on the boundary is kept", start, start + slot, 100, start + slot},
		{"a due time inside a slot waits for the next", start, start + 1, 100, start + slot},
		{"a due time in the past starts from now", start + 5, start - second, 100, start + slot},
		{"time zero works", 0, 0, 100, 0},
		{"the end of time does not overflow", start, math.MaxInt64, 100, lastSlot * slot},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Plan
			if got := p.Reserve(tt.now, tt.due, 1, tt.rate); got != tt.want {
				t.Errorf("Reserve = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestAGapBetweenBurstsIsUsed(t *testing.T) {
	var p Plan
	const rate, cost = 500, 10 // a task fills a slot
	slot := int64(Slot)
	p.Reserve(start, start, cost, rate)
	p.Reserve(start, start+3*slot, cost, rate)
	var got []int64
	for range 4 {
		got = append(got, (p.Reserve(start, start, cost, rate)-start)/slot)
	}
	if want := []int64{1, 2, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("tasks start in slots %v, want %v", got, want)
	}
}

func TestAnAbsurdlySlowResourceStaysWithinTime(t *testing.T) {
	var p Plan
	last := int64(0)
	for range 1000 {
		at := p.Reserve(start, start, math.MaxInt32, 1e-300)
		if at < last {
			t.Fatalf("Reserve = %d after %d", at, last)
		}
		last = at
	}
}

func TestMemoryIsBounded(t *testing.T) {
	var p Plan
	rng := rand.New(rand.NewPCG(1, 2))
	now := start
	for range 50_000 { // dues over a day, each in a slot of its own
		now += second / 100
		due := now + rng.Int64N(24*3600*second)
		if at := p.Reserve(now, due, 1, 1e6); at < due {
			t.Fatalf("Reserve = %d, before due %d", at, due)
		}
	}
	if len(p.runs)-p.past > maxRuns || cap(p.runs) > 3*maxRuns {
		t.Errorf("plan holds %d runs in room for %d, want at most %d", len(p.runs)-p.past, cap(p.runs), maxRuns)
	}
	checkRuns(t, &p)
	p.Reserve(now+48*3600*second, 0, 1, 500)
	if n := len(p.runs) - p.past; n != 1 {
		t.Errorf("plan holds %d runs two days later, want the new one alone", n)
	}
}

func TestAChangedRateIsKept(t *testing.T) {
	var p Plan
	for range 100 {
		p.Reserve(start, start, 1, 5000) // fills one slot
	}
	l := newLedger()
	for range 100 {
		l.add(p.Reserve(start, start, 1, 50), 1)
	}
	l.check(t, 1)
	if len(l.cost) != 100 {
		t.Errorf("100 tasks at one per slot take %d slots", len(l.cost))
	}
}

func BenchmarkReserve(b *testing.B) {
	for _, bb := range []struct {
		name string
		due  func(rng *rand.Rand) int64
	}{
		{"burst=equal", func(*rand.Rand) int64 { return start }},
		{"burst=jittered", func(rng *rand.Rand) int64 { return start + 150*second + rng.Int64N(150*second) }},
		{"burst=hours", func(rng *rand.Rand) int64 { return start + rng.Int64N(6*3600*second) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			const burst = 100_000
			b.ReportAllocs()
			for b.Loop() {
				var p Plan
				rng := rand.New(rand.NewPCG(1, 2))
				for range burst {
					p.Reserve(start, bb.due(rng), 100, 50_000)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/burst, "ns/task")
		})
	}
}
