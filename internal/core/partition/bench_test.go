package partition

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir"
)

// BenchmarkTask measures the cost of a task for the loop: its cut, its result, and its
// share of a commit that gathers a hundred of them. The store is free.
func BenchmarkTask(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) { benchmarkTask(b, size) })
	}
}

func benchmarkTask(b *testing.B, size int) {
	x := newBench(b)
	x.chains["c"] = steps(1, size)
	const items = 1 << 20
	outcomes := make([]weir.Outcome, size)
	for i := range outcomes {
		outcomes[i].Kind = weir.OutcomeDone
	}
	var ready []*Task
	bulks := 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for len(ready) == 0 {
			do := x.m.Advance(x.now)
			ready = append(ready, do.Start...)
			if len(ready) == 0 && do.Commit == nil {
				bulks++
				id := weir.BulkID(fmt.Sprintf("ba_%d", bulks))
				x.message(envelope{Created: &Created{ID: id, Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: items}})
			}
			if do.Commit != nil {
				x.m.Committed(x.now)
			}
		}
		t := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		x.m.Result(x.now, &Result{Task: t, Outcomes: outcomes[:len(t.Items)], Service: 1e6})
		x.now += 1000
		if i%100 < 92 { // slots are full again before the commit is done
			ready = append(ready, x.m.start(x.now, nil)...)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/item")
}
