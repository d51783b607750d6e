package sched

import (
	"fmt"
	"math"
	"testing"

	"github.com/weirhq/weir/internal/limit"
)

// poolGate is a lane of a pool as the gate of a queue.
type poolGate struct {
	p *limit.Pool
	l *limit.Lane
}

func (g poolGate) Peek(now int64) int64 { return g.p.Peek(now, g.l) }
func (g poolGate) Take(now int64, cost int, weight int64, express bool) (int64, bool) {
	return g.p.Take(now, g.l, cost, weight, express)
}
func (g poolGate) Release(now int64)  { g.p.Release(now, g.l) }
func (g poolGate) Idle(now int64)     { g.p.Idle(now, g.l) }
func (g poolGate) Cause() limit.Cause { return g.p.Cause(g.l) }

// node is several partitions that share a pool.
type node struct {
	pool  *limit.Pool
	parts []*sim
	r     []*Resource // of each partition
}

func newNode(t *testing.T, slots, partitions int, c limit.ResourceConfig) *node {
	n := &node{pool: limit.NewPool(slots)}
	pr := n.pool.Resource(c)
	for i := range partitions {
		s := newSim(t, Options{Slots: slots})
		n.parts = append(n.parts, s)
		n.r = append(n.r, s.q.AddResource(ResourceConfig{Name: c.Name, Rate: c.Rate, Gate: poolGate{n.pool, n.pool.Lane(pr, i)}}))
	}
	return n
}

// run lets all partitions work until the given time after the start. A partition
// acts when its queue says so, when a task of its ends, or when the pool wakes it.
func (n *node) run(until int64) {
	end := n.parts[0].start + until
	for now := n.parts[0].now; now < end; {
		for _, s := range n.parts {
			s.now = now
			for len(s.ends) > 0 && s.ends[0].at <= now {
				s.finish(s.ends[0])
				s.ends = s.ends[1:]
			}
			s.dispatch()
			n.deliver(now)
		}
		next := int64(math.MaxInt64)
		for _, s := range n.parts {
			next = min(next, s.q.Wake())
			if len(s.ends) > 0 {
				next = min(next, s.ends[0].at)
			}
		}
		now = max(now+1, next)
	}
}

func (n *node) deliver(now int64) {
	for {
		wakes := n.pool.Wakes(nil)
		if len(wakes) == 0 {
			return
		}
		for _, l := range wakes {
			s := n.parts[l.Partition()]
			s.now = now
			s.q.WakeResource(now, n.r[l.Partition()])
			s.dispatch()
		}
	}
}

func TestPartitionsShareAResource(t *testing.T) {
	for _, tt := range []struct {
		name  string
		slots int
		c     limit.ResourceConfig
		want  float64 // items in a second
	}{
		{"by its rate", 500, limit.ResourceConfig{Name: "r", Rate: 2000}, 2000},
		{"by its concurrency", 500, limit.ResourceConfig{Name: "r", Concurrency: 8}, 8 * 10 * 50},
		{"by the slots", 8, limit.ResourceConfig{Name: "r"}, 8 * 10 * 50},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, tt.slots, 3, tt.c)
			var jobs []*job
			for i, part := range []int{0, 1, 1, 2, 2, 2} { // tenants are spread unevenly
				s := n.parts[part]
				jobs = append(jobs, s.add(job{tenant: fmt.Sprint(i), tier: 2, r: n.r[part], items: 1e9, chunk: 10, service: 20 * ms}))
			}
			n.run(60 * sec)
			total := 0.0
			for _, j := range jobs {
				total += float64(j.served)
			}
			if got := total / 60 / tt.want; got < 0.985 || got > 1.001 {
				t.Errorf("use of what is shared = %.2f%%, want nearly all", 100*got)
			}
			for i, j := range jobs {
				if share := float64(j.served) / total * 6; share < 0.95 || share > 1.05 {
					t.Errorf("tenant %d got %.3f of its fair share", i, share)
				}
			}
			var log []taken
			for at, idx := int64(0), make([]int, 3); ; { // merge the logs by time
				best := -1
				for i, s := range n.parts {
					if l := s.starts[n.r[i]]; idx[i] < len(l) && (best < 0 || l[idx[i]].at < at) {
						best, at = i, l[idx[i]].at
					}
				}
				if best < 0 {
					break
				}
				log = append(log, n.parts[best].starts[n.r[best]][idx[best]])
				idx[best]++
			}
			if got := peak(log, sec); tt.c.Rate > 0 && float64(got) > tt.c.Rate {
				t.Errorf("a second saw %d items of all partitions, want <= %v", got, tt.c.Rate)
			}
		})
	}
}
