package experiment

import (
	"math"
	"reflect"
	"testing"

	"github.com/weirhq/weir/internal/core/scale"
)

func TestSameSeedSameLane(t *testing.T) {
	m := stepModel()
	m.policy, m.length = scale.Decide, 250
	if a, b := m.run(1), m.run(1); !reflect.DeepEqual(a, b) {
		t.Error("two runs with one seed differ")
	}
	if a, b := m.run(1), m.run(2); reflect.DeepEqual(a.Lane, b.Lane) {
		t.Error("two seeds bring the same arrivals")
	}
}

// What arrived has ended, waits or runs, whatever the workers do.
func TestLaneLosesNothing(t *testing.T) {
	for _, s := range []scalingShape{stepShape(), delayedShape(), limitedShape(), causeShapes()[2]} {
		s.model.policy = scale.Decide
		tr := s.model.run(3)
		most := tr.Most(0, len(tr.Lane))
		running := tr.sum(func(p Point) int { return p.Load - p.Done - p.Failed }) - tr.Lane[len(tr.Lane)-1].Backlog
		if running < 0 || running > most {
			t.Errorf("%s: %d tasks are unaccounted for, want those that %d workers may run", s.name, running, most)
		}
	}
}

func TestLaneKeepsItsLimit(t *testing.T) {
	m := limitedShape().model
	m.policy = scale.Decide
	tr := m.run(4)
	for i := 5; i+10 <= len(tr.Lane); i++ {
		if n := tr.Good(i, i+10); float64(n) > 10*m.limit+15 { // the tasks in flight may end together
			t.Fatalf("%d tasks ended in the ten seconds from %d on, want about %v", n, i, 10*m.limit)
		}
	}
}

func TestFiguresOfALane(t *testing.T) {
	var l Lane
	for i, workers := range []int{4, 4, 8, 16, 16, 12, 8, 9} {
		l = append(l, Point{Second: i + 1, Workers: workers, Done: i})
	}
	if got := l.Reversals(); got != 2 {
		t.Errorf("reversals = %d, want 2: growing, shrinking, growing", got)
	}
	if got, never := l.Reach(1, 16), l.Reach(0, 17); got != 3 || !math.IsInf(never, 1) {
		t.Errorf("reaches 16 after %v s and 17 after %v, want 3 and never", got, never)
	}
	if most, least := l.Most(5, 8), l.Least(2, 8); most != 12 || least != 8 {
		t.Errorf("most and least = %d, %d, want 12, 8", most, least)
	}
	if got := l.Good(2, 4); got != 5 {
		t.Errorf("good = %d, want 5", got)
	}
}

func TestBulksAreDoneNearlyAsFastAsTheyCouldBe(t *testing.T) {
	for _, b := range bulks() {
		// Two cycles pass before all workers are there: one sees the bulk, one has seen a step of four times.
		if late := b.known - b.fixed64; late > 3 {
			t.Errorf("%+v: %.1f s later than 64 workers, want at most 3", b, late)
		}
		if late := b.fresh - b.fixed64; late > 5 {
			t.Errorf("%+v on a lane never seen: %.1f s later than 64 workers, want at most 5", b, late)
		}
	}
}

func TestTheDefaultPolicyIsNoWorseThanTheDepthRule(t *testing.T) {
	s := stepShape()
	depth, err := scale.ByName("depth")
	if err != nil {
		t.Fatal(err)
	}
	byDepth := s.judge(depth, Small)
	for i, got := range s.judge(scale.Decide, Small) {
		if got.Got > byDepth[i].Got {
			t.Errorf("%s: %v, the depth rule %v; want the default to be no worse", got.What, got.Got, byDepth[i].Got)
		}
	}
}

func TestSeries(t *testing.T) {
	points, err := ScalingSeries("step", "", 5)
	if err != nil || len(points) != 700 {
		t.Fatalf("%d points (%v), want one for each of 700 seconds", len(points), err)
	}
	if p := points[299]; p.Second != 300 || p.Needed != stepNeeds || float64(p.Workers) < 0.9*stepNeeds {
		t.Errorf("in the middle of the step: %+v, want about %v workers", p, stepNeeds)
	}
	if _, err := ScalingSeries("square", "", 5); err == nil {
		t.Error("a shape that does not exist was accepted")
	}
	if _, err := ScalingSeries("step", "magic", 5); err == nil {
		t.Error("a policy that does not exist was accepted")
	}
}

// The incident side by side: the default stays as it is, the depth rule grows into it.
func TestIncidentSeriesTellsTheStory(t *testing.T) {
	grown := map[string]int{}
	for _, policy := range []string{scale.Default, "depth"} {
		points, err := ScalingSeries("incident", policy, firstScaling)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range points[breaksAt:healsAt] {
			grown[policy] = max(grown[policy], p.Workers)
		}
	}
	if grown[scale.Default] > 16 || grown["depth"] < 100 {
		t.Errorf("workers during the incident: %v, want few by default and many by depth", grown)
	}
}

// A downstream with room for few tasks is not grown into as by a rule that looks at the queue alone.
func TestAColdStartStopsInFrontOfACrowdedDownstream(t *testing.T) {
	depth, err := scale.ByName("depth")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range coldShapes() {
		if len(s.figures) < 2 {
			continue
		}
		ours, without := s.judge(scale.Decide, Small), s.judge(depth, Small)
		if ours[0].Got > 0.75*without[0].Got || ours[1].Got < 1.2*without[1].Got {
			t.Errorf("%s: %v and %v, by depth %v and %v", s.name, ours[0], ours[1], without[0], without[1])
		}
	}
}

// bulkTimes is how long a lane takes for tasks that arrive at once.
type bulkTimes struct {
	// tasks of so many seconds each.
	tasks   int
	seconds float64
	// fresh is the time to the end on a lane that was never seen, known on one whose
	// run times are known and that has nothing else to do.
	fresh, known float64
	// fixed8 and fixed64 are the same with so many workers from the first second.
	fixed8, fixed64 float64
}

// bulks measures bulks of 100 to 10,000 tasks of 10 ms to 1 s.
func bulks() (out []bulkTimes) {
	for _, seconds := range []float64{0.01, 0.1, 1} {
		for _, tasks := range []int{100, 1000, 10_000} {
			out = append(out, bulkOf(tasks, seconds))
		}
	}
	return out
}

// bulkOf measures so many tasks of so many seconds, with 8 workers first and 64 at most.
func bulkOf(tasks int, seconds float64) bulkTimes {
	const seed, begin = firstScaling, 100
	m := laneModel{
		policy: scale.Decide, config: scale.Config{Min: 8, Max: 64}, length: 5000, workers: 8,
		bulk: atOnce(tasks), service: takes(seconds), untilIdle: true,
	}
	b := bulkTimes{tasks: tasks, seconds: seconds, fresh: m.run(seed).idleAt, fixed8: fixed(m, 8).run(seed).idleAt, fixed64: fixed(m, 64).run(seed).idleAt}
	m.notBefore = begin
	m.bulk = func(second int) int { // a few tasks first, from which the run time is known
		switch second {
		case 0:
			return 20
		case begin:
			return tasks
		}
		return 0
	}
	b.known = m.run(seed).idleAt - begin
	return b
}
