package coord

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/scale"
)

const second = int64(time.Second)

// lab is a coordinator and the nodes that it looks at.
type lab struct {
	c        *Coordinator
	now      int64
	fleet    Fleet
	settings weir.Scaling
}

func newLab(nodes int) *lab {
	l := &lab{c: New(), now: 1_800_000_000 * second}
	l.fleet.Partitions = 4
	for i := range nodes {
		l.fleet.Nodes = append(l.fleet.Nodes, weir.Node{Name: string(rune('a' + i)), Slots: 64})
	}
	return l
}

func lane(p int, resource string) weir.Lane {
	return weir.Lane{ID: weir.LaneID{Partition: p, Resource: resource}, Workers: 8, Chunk: 100, Weight: 1024}
}

// cycle lets a second pass in which all nodes look, and decides. What is told is obeyed.
func (l *lab) cycle() []weir.Decision {
	l.now += second
	for i := range l.fleet.Nodes {
		l.fleet.Nodes[i].At = time.Unix(0, l.now)
	}
	out := l.c.Cycle(l.now, l.fleet, &l.settings)
	for _, d := range out {
		for i := range l.fleet.Nodes {
			for j := range l.fleet.Nodes[i].Lanes {
				if x := &l.fleet.Nodes[i].Lanes[j]; x.ID == d.Lane && !d.Shadow {
					x.Workers = d.To
				}
			}
		}
	}
	return out
}

// busy makes a lane end tasks of a second with all its workers, with a backlog behind.
func busy(l *weir.Lane, tasks int64) {
	l.Eligible, l.Ready = tasks*100, tasks*100
	l.InFlight, l.Busy = l.Workers, float64(l.Workers)
	l.Started += int64(l.Workers)
	l.Ended += int64(l.Workers)
	l.Took += time.Duration(l.Workers) * time.Second
}

func TestALaneGrowsWithItsBacklog(t *testing.T) {
	l := newLab(1)
	l.fleet.Nodes[0].Lanes = []weir.Lane{lane(0, "a"), lane(1, "a")}
	var all []weir.Decision
	for range 20 {
		busy(&l.fleet.Nodes[0].Lanes[0], 5000)
		all = append(all, l.cycle()...)
	}
	if got := l.fleet.Nodes[0].Lanes[0].Workers; got != 64 {
		t.Errorf("%d workers with 5,000 tasks of a second in sight, want 64", got)
	}
	for _, d := range all {
		if d.Lane.Partition != 0 || d.Text == "" || d.Policy != scale.Default || d.Inputs.Backlog != 5000 {
			t.Errorf("decision %+v, want one about the busy lane with its inputs", d)
		}
	}
}

func TestARateIsDividedAmongTheLanes(t *testing.T) {
	for _, tt := range []struct {
		name string
		rate float64
		in   []demand
		want []float64
	}{
		{"all want more: by weight", 100, []demand{{wants: 500, weight: 1}, {wants: 500, weight: 3}}, []float64{25, 75}},
		{"one wants little: the rest is the other's", 100, []demand{{wants: 10, weight: 1}, {wants: 500, weight: 1}}, []float64{10, 90}},
		{"there is enough: any lane may have the rest", 100, []demand{{wants: 10, weight: 1}, {wants: 20, weight: 1}}, []float64{80, 90}},
		{"no lane wants anything", 100, []demand{{weight: 1}, {weight: 1}}, []float64{100, 100}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.in {
				tt.in[i].lane = i
			}
			divide(tt.rate, tt.in)
			for _, d := range tt.in {
				if math.Abs(d.gets-tt.want[d.lane]) > 1e-9 {
					t.Errorf("lane %d gets %v, want %v", d.lane, d.gets, tt.want[d.lane])
				}
			}
		})
	}
}

func TestWorkersBeyondTheRateAreNotAskedFor(t *testing.T) {
	l := newLab(2)
	l.fleet.Limits = map[string]weir.Resource{"a": {Rate: 1600}} // 16 tasks a second: 16 workers busy, in two lanes
	for i := range l.fleet.Nodes {
		l.fleet.Nodes[i].Lanes = []weir.Lane{lane(i, "a")}
	}
	for range 60 {
		for i := range l.fleet.Nodes {
			busy(&l.fleet.Nodes[i].Lanes[0], 100_000)
		}
		l.cycle()
	}
	sum := l.fleet.Nodes[0].Lanes[0].Workers + l.fleet.Nodes[1].Lanes[0].Workers
	if sum < 16 || sum > 28 { // small lanes have half as many again, and a little more
		t.Errorf("%d workers for a rate that keeps 16 busy", sum)
	}
}

func TestWhatNodesFoundOfADownstreamCounts(t *testing.T) {
	use := func(limited bool, allowed float64) weir.Node {
		return weir.Node{Resources: []weir.ResourceUse{{Name: "a", Limited: limited, Allowed: allowed}}}
	}
	for _, tt := range []struct {
		name  string
		rate  float64
		nodes []weir.Node
		want  float64
	}{
		{"no node is limited", 100, []weir.Node{use(false, 50), use(false, 50)}, 100},
		{"all are", 100, []weir.Node{use(true, 10), use(true, 20)}, 30},
		{"one is", 100, []weir.Node{use(true, 10), use(false, 50)}, 60},
		{"never more than the limit", 100, []weir.Node{use(true, 90), use(false, 50)}, 100},
		{"without a limit, all are", 0, []weir.Node{use(true, 10), use(true, 5)}, 15},
		{"without a limit, one is", 0, []weir.Node{use(true, 10), use(false, 0)}, 0},
		{"no node uses it", 100, []weir.Node{{}}, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := Fleet{Nodes: tt.nodes, Limits: map[string]weir.Resource{"a": {Rate: weir.Rate(tt.rate)}}}
			if got := allowed("a", f); got != tt.want {
				t.Errorf("allowed %v, want %v", got, tt.want)
			}
		})
	}
}

func TestOldNewsDecideNothing(t *testing.T) {
	l := newLab(1)
	l.fleet.Nodes[0].Lanes = []weir.Lane{lane(0, "a")}
	for range 10 {
		busy(&l.fleet.Nodes[0].Lanes[0], 5000)
		l.cycle()
	}
	before := l.c.lanes[weir.LaneID{Partition: 0, Resource: "a"}].acting.state
	for range 5 { // the node has not looked again
		l.now += second
		if out := l.c.Cycle(l.now, l.fleet, &l.settings); out != nil {
			t.Errorf("decided %+v without news", out)
		}
	}
	after := l.c.lanes[weir.LaneID{Partition: 0, Resource: "a"}].acting.state
	if before.Above != after.Above || before.Calm != after.Calm {
		t.Errorf("a cycle without news was counted: %+v, then %+v", before, after)
	}
}

func TestTheLaterOfTwoOwnersCounts(t *testing.T) {
	l := newLab(2)
	l.fleet.Nodes[0].Lanes = []weir.Lane{lane(0, "a")}
	for range 5 {
		busy(&l.fleet.Nodes[0].Lanes[0], 5000)
		l.cycle()
	}
	l.fleet.Nodes[1].Lanes = []weir.Lane{lane(0, "a")} // takes over: its counts begin at 0
	l.now += second
	l.fleet.Nodes[1].At = time.Unix(0, l.now)
	if out := l.c.Cycle(l.now, l.fleet, &l.settings); out != nil {
		t.Errorf("the first look of a new owner has no counts to compare, but decided %+v", out)
	}
	if got := l.c.lanes[weir.LaneID{Partition: 0, Resource: "a"}].node; got != "b" {
		t.Errorf("the lane belongs to %q, want the node that looked last", got)
	}
}

func TestALaneThatDoesNotObeyIsToldAgain(t *testing.T) {
	l := newLab(1)
	l.fleet.Nodes[0].Lanes = []weir.Lane{lane(0, "a")}
	told := 0
	for range 12 {
		x := &l.fleet.Nodes[0].Lanes[0]
		x.Workers = 8 // whatever it is told
		busy(x, 5000)
		for _, d := range l.cycle() {
			if d.To > d.From {
				told++
			}
		}
	}
	if told < 2 || told > 6 {
		t.Errorf("told %d times in 12 s to grow, want now and then", told)
	}
}

func TestAShadowBelievesWhatItDecided(t *testing.T) {
	l := newLab(1)
	l.settings = weir.Scaling{Policy: weir.PolicyOff, Shadow: "depth"}
	l.fleet.Nodes[0].Lanes = []weir.Lane{lane(0, "a")}
	last := 8
	for range 30 {
		busy(&l.fleet.Nodes[0].Lanes[0], 5000)
		for _, d := range l.cycle() {
			if !d.Shadow || d.From != last || d.Inputs.Workers != 8 {
				t.Errorf("decision %+v, want a shadow's that starts from its own %d beside 8 real ones", d, last)
			}
			last = d.To
		}
	}
	if last != 64 || l.fleet.Nodes[0].Lanes[0].Workers != 8 {
		t.Errorf("the shadow believes in %d workers and the lane has %d; want 64 and 8", last, l.fleet.Nodes[0].Lanes[0].Workers)
	}
}

func TestFloorsOfAResourceAreDividedAmongItsLanes(t *testing.T) {
	l := newLab(1)
	l.now = time.Date(2026, 11, 13, 19, 0, 0, 0, time.UTC).UnixNano() // a Friday
	l.settings.Timetables = map[string]string{"a": "Fri 18:00-22:00 64"}
	l.fleet.Nodes[0].Lanes = []weir.Lane{lane(0, "a"), lane(0, "b")}
	for range 10 {
		l.cycle()
	}
	if a, b := l.fleet.Nodes[0].Lanes[0].Workers, l.fleet.Nodes[0].Lanes[1].Workers; a != 16 || b != 8 {
		t.Errorf("%d workers at the hour of the timetable and %d in another lane; want 64 over 4 partitions, and 8", a, b)
	}
}

func TestSettingsThatCannotBeUsed(t *testing.T) {
	until := time.Unix(1, 0)
	for _, tt := range []struct {
		name string
		s    weir.Scaling
		want string
	}{
		{"unknown policy", weir.Scaling{Policy: "magic"}, "policy:"},
		{"unknown shadow", weir.Scaling{Shadow: "magic"}, "shadow:"},
		{"bounds the wrong way round", weir.Scaling{Min: 9, Max: 3}, "max is 3"},
		{"pin without an end", weir.Scaling{Pins: map[weir.LaneID]weir.Pin{{}: {Workers: 1}}}, "an end"},
		{"pin to less than nothing", weir.Scaling{Pins: map[weir.LaneID]weir.Pin{{}: {Workers: -1, Until: until}}}, "at least 0"},
		{"timetable", weir.Scaling{Timetables: map[string]string{"a": "whenever"}}, `timetable of "a"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := Validate(&tt.s); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if err := Validate(&weir.Scaling{}); err != nil {
		t.Errorf("nothing set: %v", err)
	}
}

func TestWhatHasRunOutIsForgotten(t *testing.T) {
	now := time.Unix(1000, 0)
	s := weir.Scaling{
		Pins:     map[weir.LaneID]weir.Pin{{Partition: 1, Resource: "a"}: {Until: now}, {Partition: 2, Resource: "a"}: {Until: now.Add(1)}},
		Circuits: map[string]weir.Circuit{"a": {Until: now}, "b": {Until: now.Add(1)}},
	}
	if Expire(&s, now.UnixNano()); len(s.Pins) != 1 || len(s.Circuits) != 1 {
		t.Errorf("left: %+v", s)
	}
}

func TestLanesAreWrittenAndRead(t *testing.T) {
	want := weir.Scaling{Pins: map[weir.LaneID]weir.Pin{{Partition: 3, Resource: "send/message"}: {Workers: 2}}}
	raw, err := json.Marshal(want)
	if err != nil || !strings.Contains(string(raw), `"p03/send/message"`) {
		t.Fatalf("%s, %v", raw, err)
	}
	var got weir.Scaling
	if err := json.Unmarshal(raw, &got); err != nil || len(got.Pins) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "3", "p3/", "px/a", "p-1/a"} {
		if err := new(weir.LaneID).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a lane", bad)
		}
	}
}

func BenchmarkCycle(b *testing.B) {
	l := newLab(8)
	for p := range 256 {
		for _, r := range []string{"a", "b", "c", "d"} {
			n := &l.fleet.Nodes[p%8]
			n.Lanes = append(n.Lanes, lane(p, r))
		}
	}
	for b.Loop() {
		l.cycle()
	}
}
