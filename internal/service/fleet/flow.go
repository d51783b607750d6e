package fleet

import (
	"sync"
	"time"

	"github.com/weirhq/weir"
)

// flowOver is the time over which tasks in and out are counted.
const flowOver = 5 * time.Second

// flows holds how many tasks came into each lane, and ended, when somebody looked.
type flows struct {
	mu    sync.Mutex
	lanes map[weir.LaneID]flow
}

// flow is a lane at some time, and its rates in the span before.
type flow struct {
	at             time.Time
	node           string
	arrived, ended float64
	in, out        float64 // per second
}

// note takes the counters of the lanes of all nodes, and returns the rates of each lane. A lane that is new, or that
// has moved to another node, has none yet.
func (f *flows) note(nodes []weir.Node, now time.Time) map[weir.LaneID]flow {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := map[weir.LaneID]flow{}
	for _, n := range nodes {
		for i := range n.Lanes {
			l := &n.Lanes[i]
			was, known := f.lanes[l.ID]
			is := flow{at: now, node: n.Name, arrived: l.Arrived, ended: float64(l.Ended)}
			span := now.Sub(was.at)
			switch {
			case !known || was.node != is.node || is.ended < was.ended || is.arrived < was.arrived:
			case span < flowOver:
				is = was
			default:
				is.in, is.out = (is.arrived-was.arrived)/span.Seconds(), (is.ended-was.ended)/span.Seconds()
			}
			next[l.ID] = is
		}
	}
	f.lanes = next
	return next
}
