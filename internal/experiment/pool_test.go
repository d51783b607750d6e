package experiment

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/internal/limit"
	"github.com/weirhq/weir/internal/sched"
)

// pooled is several queues that share a pool, as the partitions of a node do, and
// the meter of all of them.
type pooled struct {
	pool  *limit.Pool
	parts []*drive
	r     []*sched.Resource // of each partition
	all   *meter
}

func newPooled(slots, partitions int, c limit.ResourceConfig) *pooled {
	n := &pooled{pool: limit.NewPool(slots), all: newMeter(c.Rate, epoch)}
	pr := n.pool.Resource(c)
	for i := range partitions {
		d := newDrive(sched.Options{Slots: slots})
		d.onPick = func(p sched.Pick, _ *job) { n.all.count(d.now, int64(p.Cost)) }
		n.parts = append(n.parts, d)
		n.r = append(n.r, d.resource(sched.ResourceConfig{Name: c.Name, Rate: c.Rate, Gate: poolGate{n.pool, n.pool.Lane(pr, i)}}))
	}
	return n
}

// run lets all partitions work until the given time after the start. A partition
// acts when its queue says so, when a task of its ends, or when the pool wakes it.
func (n *pooled) run(until int64) {
	for now := epoch; now < epoch+until; {
		for _, d := range n.parts {
			d.now = now
			for len(d.ends) > 0 && d.ends[0].at <= now {
				d.finish(d.ends.Pop())
			}
			d.dispatch()
			n.deliver(now)
		}
		due := never
		for _, d := range n.parts {
			due = min(due, d.next())
		}
		now = max(now+1, due)
	}
}

func (n *pooled) deliver(now int64) {
	for wakes := n.pool.Wakes(nil); len(wakes) > 0; wakes = n.pool.Wakes(nil) {
		for _, l := range wakes {
			d := n.parts[l.Partition()]
			d.now = now
			d.q.WakeResource(now, n.r[l.Partition()])
			d.dispatch()
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
			n := newPooled(tt.slots, 3, tt.c)
			var jobs []*job
			for i, part := range []int{0, 1, 1, 2, 2, 2} { // tenants are spread unevenly
				jobs = append(jobs, n.parts[part].add(job{tenant: fmt.Sprint(i), tier: 2, r: n.r[part], items: 1e9, chunk: 10, service: 20 * ms}))
			}
			n.run(60 * sec)
			total := float64(n.all.total)
			if got := total / 60 / tt.want; got < 0.985 || got > 1.001 {
				t.Errorf("use of what is shared = %.2f%%, want nearly all", 100*got)
			}
			for i, j := range jobs {
				if share := float64(j.served) / total * 6; share < 0.95 || share > 1.05 {
					t.Errorf("tenant %d got %.3f of its fair share", i, share)
				}
			}
			if tt.c.Rate > 0 && n.all.peak() > 1 {
				t.Errorf("a second saw %.4f of the rate in all partitions, want <= 1", n.all.peak())
			}
		})
	}
}
