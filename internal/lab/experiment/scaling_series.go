package experiment

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir/internal/core/scale"
)

// Point is one second of a lane, for plots.
type Point struct {
	Second int
	// Load is how many tasks arrived, Done how many ended well, Failed how many did not.
	Load, Done, Failed int
	// Backlog is how many tasks waited at the end of the second.
	Backlog int
	// Workers is what the policy decided, Needed what an all-knowing one would have.
	Workers int
	Needed  float64
	// SlotWait is the 99th percentile of the time for which tasks waited for a worker, in seconds.
	SlotWait float64
}

// ScalingShapes lists the loads of [ScalingSeries].
func ScalingShapes() []string {
	var keys []string
	for _, s := range scalingShapes() {
		keys = append(keys, s.key)
	}
	return keys
}

// ScalingSeries is what happens under one load of [ScalingShapes] and one policy
// of [scale.Names], second by second, with the chance of one seed.
func ScalingSeries(shape, policy string, seed uint64) ([]Point, error) {
	p, err := scale.ByName(policy)
	if err != nil {
		return nil, err
	}
	for _, s := range scalingShapes() {
		if s.key == shape {
			s.model.policy = p
			return s.model.points(seed), nil
		}
	}
	return nil, fmt.Errorf("shape %q is not known: give one of %s", shape, strings.Join(ScalingShapes(), ", "))
}

// points plays a model and tells it by second.
func (m laneModel) points(seed uint64) []Point {
	t := m.run(seed)
	points := make([]Point, len(t.workers))
	for i := range points {
		points[i] = Point{
			Second: i + 1, Load: t.loads[i], Done: t.done[i], Failed: t.failed[i], Backlog: t.backlogs[i],
			Workers: t.workers[i], SlotWait: t.slotWait[i],
		}
		if m.needed != nil {
			points[i].Needed = m.needed(float64(i) + 0.5)
		}
	}
	return points
}
