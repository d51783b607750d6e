package quota

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/store"
)

func rate(units int64) store.Limit {
	return store.Limit{Resource: "r", Units: units, Window: time.Second}
}

func slots(units int64) store.Limit { return store.Limit{Resource: "r", Units: units} }

// says is a node that wants something; nodes are named a, b, c ...
func says(want, weight int64) store.Holding { return store.Holding{Want: want, Weight: weight} }

func named(hs []store.Holding) []store.Holding {
	for i := range hs {
		hs[i].Node = string(rune('a' + i))
	}
	return hs
}

func TestTargets(t *testing.T) {
	const all = 1000
	for _, tt := range []struct {
		name    string
		limit   store.Limit
		members []string
		says    []store.Holding
		want    map[string]int64
	}{
		{"one node alone has everything", rate(all), []string{"a"}, []store.Holding{says(all, 1)}, map[string]int64{"a": 1000}},
		{"a fiftieth stays unassigned while all hold something", rate(all), nil, []store.Holding{says(all, 5), says(all, 5)}, map[string]int64{"a": 490, "b": 490}},
		{"a tenth with others who want nothing", rate(all), []string{"a", "b"}, []store.Holding{says(all, 5)}, map[string]int64{"a": 900}},
		{"by weight", rate(all), nil, []store.Holding{says(all, 1), says(all, 2)}, map[string]int64{"a": 330, "b": 650}},
		{"no more than is wanted, the rest to others", rate(all), nil, []store.Holding{says(100, 1), says(all, 1), says(all, 3)}, map[string]int64{"a": 100, "b": 220, "c": 660}},
		{"permits count as a part of the share", rate(all), nil, []store.Holding{says(all, 1), {Want: all, Weight: 1, Drawn: 100}}, map[string]int64{"a": 540, "b": 440}},
		{"whole chunks, the larger remainder first", rate(all), nil, []store.Holding{says(all, 55), says(all, 25), says(all, 20)}, map[string]int64{"a": 540, "b": 240, "c": 200}},
		{"one that wants little draws, and has room for it", rate(all), nil, []store.Holding{says(all, 1), {Want: 25, Weight: 1, Drawn: 20}}, map[string]int64{"a": 860}},
		{"one that wants nothing gets nothing", rate(all), nil, []store.Holding{says(all, 1), says(0, 1)}, map[string]int64{"a": 900}},
		{"a rate with less than two chunks per node is drawn", rate(30), nil, []store.Holding{says(30, 1), says(30, 1)}, map[string]int64{}},
		{"slots are shared out whole", slots(10), nil, []store.Holding{says(10, 1), says(10, 1), says(10, 1)}, map[string]int64{"a": 4, "b": 3, "c": 3}},
		{"a slot for each that wants one", slots(4), nil, []store.Holding{says(4, 1000), says(4, 1), says(4, 1)}, map[string]int64{"a": 2, "b": 1, "c": 1}},
		{"more nodes than slots", slots(1), nil, []store.Holding{says(1, 1), says(1, 2)}, map[string]int64{"b": 1}},
		{"slots wait for nodes that are idle", slots(9), []string{"a", "b", "c"}, nil, map[string]int64{"a": 3, "b": 3, "c": 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPlanner(tt.limit, 10)
			got, changed := p.Plan(sec, tt.members, named(tt.says), nil)
			if !maps.Equal(got, tt.want) || !changed {
				t.Errorf("targets = %v, changed %v; want %v, changed", got, changed, tt.want)
			}
			if again, changed := p.Plan(sec+250*ms, tt.members, named(tt.says), nil); changed || !maps.Equal(again, got) {
				t.Errorf("the same again: %v, changed %v; want no change", again, changed)
			}
		})
	}
}

// A node with one task to do does not want a quota for more, however long it waits.
func TestANodeWantsNoMoreThanItHasToDo(t *testing.T) {
	for _, tt := range []struct{ backlog, want int64 }{{0, 1000}, {10, 10}, {250, 250}, {5000, 1000}} {
		k := NewKeeper(rate(1000), "a", time.Second, 10)
		a := k.Next(10*sec, View{Busy: true, Short: 5 * sec, Cost: 10, Weight: 1, Backlog: tt.backlog})
		if !a.Hold || a.Holding.Want != tt.want {
			t.Errorf("with %d to do it wants %d, want %d", tt.backlog, a.Holding.Want, tt.want)
		}
	}
}

func TestATargetStaysWhileItIsNearlyRight(t *testing.T) {
	p := NewPlanner(rate(10_000), 10)
	hs := named([]store.Holding{says(10_000, 1000), says(10_000, 1000)})
	p.Plan(sec, nil, hs, nil)
	hs[0].Weight = 1060
	if got, changed := p.Plan(2*sec, nil, hs, nil); changed {
		t.Errorf("targets = %v for a weight that is 6 %% higher, want no change", got)
	}
	hs[0].Weight = 1200
	if got, changed := p.Plan(3*sec, nil, hs, nil); !changed || got["a"] != 5350 {
		t.Errorf("targets = %v for a weight that is 20 %% higher, want a: 5350", got)
	}
}

func TestANodeThatDiesLosesItsTarget(t *testing.T) {
	p := NewPlanner(rate(1000), 10)
	p.Plan(sec, []string{"a", "b"}, named([]store.Holding{says(1000, 1), says(1000, 1)}), nil)
	got, changed := p.Plan(2*sec, []string{"a"}, named([]store.Holding{says(1000, 1)}), nil)
	if want := map[string]int64{"a": 1000}; !changed || !maps.Equal(got, want) {
		t.Errorf("targets = %v, want %v", got, want)
	}
}

// A dead node is in the books until its quota ends, with what it said last. However little of its part it used then,
// the others have the rest for all of that time.
func TestASilentNodeKeepsWhatItHoldsAndTheOthersShareTheRest(t *testing.T) {
	members := []string{"a", "b", "c"}
	for used := range int64(5) {
		t.Run(fmt.Sprintf("used %d of 4", used), func(t *testing.T) {
			p := NewPlanner(slots(12), 1)
			hs := named([]store.Holding{says(12, 1), says(12, 1), says(12, 1)})
			for i := range hs {
				hs[i].Held, hs[i].Used = 4, 4
			}
			p.Plan(sec, members, hs, nil)
			hs[2].Used = used
			want := map[string]int64{"a": 4, "b": 4, "c": 4}
			for now := 2 * sec; now < 12*sec; now += 250 * ms {
				if got, _ := p.Plan(now, members, hs, map[string]bool{"c": true}); !maps.Equal(got, want) {
					t.Fatalf("after %v targets = %v, want %v", time.Duration(now-2*sec), got, want)
				}
			}
			got, changed := p.Plan(12*sec, members[:2], hs[:2], map[string]bool{"c": true})
			if want := map[string]int64{"a": 6, "b": 6}; !changed || !maps.Equal(got, want) {
				t.Errorf("when it has ended, targets = %v, changed %v; want %v", got, changed, want)
			}
		})
	}
}

func TestASilentNodeThatComesBackSharesAgain(t *testing.T) {
	p := NewPlanner(slots(12), 1)
	members, hs := []string{"a", "b"}, named([]store.Holding{says(12, 1), says(12, 1)})
	hs[0].Held, hs[1].Held = 10, 2
	got, changed := p.Plan(sec, members, hs, map[string]bool{"b": true})
	if want := map[string]int64{"a": 10, "b": 2}; !changed || !maps.Equal(got, want) {
		t.Errorf("while b is silent, targets = %v, changed %v; want %v", got, changed, want)
	}
	got, changed = p.Plan(2*sec, members, hs, nil)
	if want := map[string]int64{"a": 6, "b": 6}; !changed || !maps.Equal(got, want) {
		t.Errorf("when b is back, targets = %v, changed %v; want %v", got, changed, want)
	}
}

func TestTheOnlySlotGoesRound(t *testing.T) {
	p := NewPlanner(slots(1), 1)
	hs := named([]store.Holding{says(1, 1), says(1, 1), says(1, 2)})
	had := map[string]int{}
	for now := sec; now < 121*sec; now += 250 * ms {
		targets, _ := p.Plan(now, nil, hs, nil)
		for i := range hs {
			hs[i].Used = targets[hs[i].Node]
			had[hs[i].Node] += int(targets[hs[i].Node])
		}
	}
	if had["a"]+had["b"]+had["c"] != 480 || had["a"] < 100 || had["b"] < 100 || had["c"] < 210 {
		t.Errorf("quarter seconds with the slot = %v of 480, want shares near 1:1:2", had)
	}
}

func TestWhatWasMissedIsMadeGood(t *testing.T) {
	p := NewPlanner(rate(1000), 100)
	hs := named([]store.Holding{says(1000, 1), says(1000, 1), says(1000, 1), says(1000, 1)})
	got := map[string]int64{}
	for now := sec; now < 401*sec; now += 250 * ms {
		targets, _ := p.Plan(now, nil, hs, nil)
		for i := range hs {
			hs[i].Used = targets[hs[i].Node]
			got[hs[i].Node] += targets[hs[i].Node]
		}
	}
	for node, n := range got { // 9 chunks for 4 nodes: one node always has one more
		if mean := n / 1600; mean < 215 || mean > 235 {
			t.Errorf("node %s had a quota of %d on average, want 225", node, mean)
		}
	}
}

func TestTargetsKeepWithinTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := rate(rapid.Int64Range(1, 20_000).Draw(t, "units"))
		if rapid.Bool().Draw(t, "slots") {
			l = slots(rapid.Int64Range(1, 50).Draw(t, "units"))
		}
		p := NewPlanner(l, rapid.Int64Range(1, 100).Draw(t, "chunk"))
		now := sec
		for range rapid.IntRange(1, 30).Draw(t, "plans") {
			now += rapid.Int64Range(ms, 30*sec).Draw(t, "later")
			var hs []store.Holding
			for i := range rapid.IntRange(0, 20).Draw(t, "nodes") {
				hs = append(hs, store.Holding{
					Node: fmt.Sprint("n", i), Want: rapid.Int64Range(0, l.Units).Draw(t, "want"),
					Weight: rapid.Int64Range(0, 1<<40).Draw(t, "weight"),
					Used:   rapid.Int64Range(0, l.Units).Draw(t, "used"), Drawn: rapid.Int64Range(0, l.Units).Draw(t, "drawn"),
				})
			}
			targets, _ := p.Plan(now, nil, hs, nil)
			sum := int64(0)
			for _, h := range hs {
				target := targets[h.Node]
				sum += target
				if target < 0 || target%p.chunk != 0 && target != l.Units {
					t.Fatalf("target %d is not in whole chunks of %d", target, p.chunk)
				}
				if h.Want == 0 && target != 0 {
					t.Fatalf("a node that wants nothing should get %d", target)
				}
			}
			if sum > l.Units || len(hs) > 1 && l.Window > 0 && sum > l.Units-1 && sum > l.Units*98/100 {
				t.Fatalf("targets of %d together, the limit is %d", sum, l.Units)
			}
		}
	})
}

func BenchmarkPlan(b *testing.B) {
	p := NewPlanner(rate(10_000), 100)
	hs := make([]store.Holding, 16)
	for i := range hs {
		hs[i] = says(int64(600+10*i), int64(1024*(10+i)))
	}
	hs = named(hs)
	now := sec
	b.ReportAllocs()
	for b.Loop() {
		now += 250 * ms
		p.Plan(now, nil, hs, nil)
	}
}
