package capacity

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/sched"
)

// BenchmarkLoops measures the cost of a task for the capacity of a node, from the pick to its end,
// while the loops of so many partitions ask at once.
func BenchmarkLoops(b *testing.B) {
	for _, loops := range []int{1, 8, 32} {
		b.Run(fmt.Sprint(loops, " loops"), func(b *testing.B) {
			n := New(Config{Slots: 64, Lock: &sync.Mutex{}})
			var now, left atomic.Int64
			var wg sync.WaitGroup
			left.Store(int64(b.N))
			parties := make([]*Party, loops)
			for i := range parties {
				parties[i] = crowded(n, i, 10_000/loops)
			}
			b.ResetTimer()
			for _, p := range parties {
				wg.Go(func() {
					for left.Load() > 0 {
						pick, ok := p.Next(now.Add(1000))
						if !ok {
							runtime.Gosched()
							continue
						}
						p.Update(now.Add(1000), pick.Entry, 100, 1e12)
						p.Done(now.Add(1000), pick, &Ending{Service: 1000})
						left.Add(-1)
					}
				})
			}
			wg.Wait()
		})
	}
}

// crowded is a party with so many tenants that never run out of work.
func crowded(n *Node, no, tenants int) *Party {
	p := n.Join(nil)
	p.SetOpen(0, true)
	r := p.Resource(weir.Resource{Name: "r"})
	for i := range tenants {
		g := p.AddBulk(fmt.Sprint(no, "/", i), sched.BulkConfig{Tier: i % sched.Tiers})
		p.Update(0, p.AddEntry(g, r, 0, nil), 100, 1e12)
	}
	return p
}
