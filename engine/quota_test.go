package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// several is a store in memory that counts as one that several processes use.
type several struct{ *memstore.Store }

func (several) Shared() bool { return true }

func TestNodesShareARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		a := noted("limited", &l, 10*time.Millisecond)
		a.Resource.Rate = weir.PerSecond(500)
		s := several{memory()}
		node := func() *rig { return start(t, s, engine.Options{Partitions: 12, LeaseFor: 2 * time.Second}, action(a)) }
		r, second := node(), node()
		node()
		time.Sleep(time.Second) // until partitions are shared out
		began := time.Now()
		bulks := tenants(t, r, a, 30, 500)
		go func() {
			last := 0
			for i := range 31 {
				time.Sleep(time.Second)
				l.mu.Lock()
				n := len(l.times)
				l.mu.Unlock()
				if n-last < 200 {
					hs, err := s.Holdings(t.Context(), store.Limit{Resource: "limited", Units: 500, Window: time.Second})
					t.Log("STALL", i, n-last, hs, err)
					after, ok, err := s.Draw(t.Context(), store.Limit{Resource: "limited", Units: 500, Window: time.Second}, 1)
					t.Log("DRAW", after, ok, err)
				}
				last = n
			}
		}()
		time.Sleep(10 * time.Second)
		if err := second.stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		node()
		for _, b := range bulks {
			wantCounts(t, wait(t, b), 500, 0, 0)
		}
		took := time.Since(began)
		if most := l.busiest(time.Second); most > 500 {
			t.Errorf("%d items were sent within a second, the limit is 500", most)
		}
		ideal := 30 * time.Second
		per := map[int]int{}
		for _, x := range l.times {
			per[int(x.Sub(began)/time.Second)]++
		}
		for i := range 40 {
			t.Log(i, per[i])
		}
		t.Logf("use %.4f", float64(ideal)/float64(took))
		if use := float64(ideal) / float64(took); use < 0.97 {
			t.Errorf("15,000 items at 500/s took %v: %.3f of the rate was used, want at least 0.97", took, use)
		}
	})
}

func TestNodesShareAConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		a := noted("limited", &l, 100*time.Millisecond)
		a.BatchSize = 1
		a.Resource.Concurrency = 10
		s := several{memory()}
		var nodes []*rig
		for range 3 {
			nodes = append(nodes, start(t, s, engine.Options{Partitions: 12}, action(a)))
		}
		time.Sleep(time.Second)
		began := time.Now()
		for _, b := range tenants(t, nodes[0], a, 20, 100) {
			wantCounts(t, wait(t, b), 100, 0, 0)
		}
		if l.most != 10 {
			t.Errorf("at most %d tasks ran at once, want 10", l.most)
		}
		t.Log(time.Since(began))
		if took := time.Since(began); took > 23*time.Second {
			t.Errorf("2,000 tasks of 100 ms took %v, want little more than 20s", took)
		}
	})
}
