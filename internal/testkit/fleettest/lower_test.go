//go:build unix

package fleettest_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/fleettest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/internal/testkit/testenv/faultproxy"
	"github.com/weirhq/weir/store/redisstore"
)

var (
	lowerings  = flag.Int("lowerings", 3, "how often the limit is lowered; 200 is what is published")
	loweredBy  = flag.Uint64("lowered-seed", 1, "of the moments and faults")
	loweredFor = 1600 * time.Millisecond // how long a lower limit is watched
)

const (
	highRate = 2000
	// lateSends is the factor by which a second may exceed the limit: see the judge's jitter.
	lateSends = 1.02
)

// lowering is one lowered limit: from the answer until it is raised again.
type lowering struct {
	fault         string
	moment        time.Duration // of the fault, after the change was asked for
	limit         float64
	asked         time.Time
	answered, end time.Time
}

// A limit is lowered again and again while the leader is killed, frozen or cut
// off just before, during or just after. By the times at which nodes took calls up,
// no second after the answer holds more than the lower limit.
func TestALoweredLimitHoldsDuringEveryFaultOfTheLeader(t *testing.T) {
	random := rand.New(rand.NewPCG(*loweredBy, 0))
	r := testenv.Redis(t)
	w := lowered{proxies: map[int]*faultproxy.Proxy{}, random: random}
	c := fleettest.Config{
		Addresses: []string{r.Addr}, Mode: redisstore.Memory, LeaseFor: 10 * time.Second,
		Batch: 10, Concurrency: 16, Slots: 32, Via: map[int]string{}, // without a rate: it is set, and judged here
	}
	for i := range 3 {
		w.proxies[i] = faultproxy.New(t, r.Addr)
		c.Via[i] = w.proxies[i].Addr
	}
	w.fleet = fleettest.New(t, c)
	w.fleet.SetRate(highRate)
	stop := w.fleet.Busy(24, 500)
	// A server that has just started waits for a lease and a window before it gives anything away.
	until(t, "work flows", patience, w.flows)
	all := make([]lowering, *lowerings)
	for i := range all {
		w.fleet.SetRate(highRate)
		while(700 * time.Millisecond)
		all[i] = w.lower()
	}
	w.fleet.SetRate(highRate)
	stop()
	judge(t, w.fleet.Judge(2*patience).Calls, all)
}

func judge(t *testing.T, calls fleettest.Calls, all []lowering) {
	t.Helper()
	busy := 0
	for i, l := range all {
		before := calls.Rate(l.asked.Add(-500*time.Millisecond), l.asked)
		if before > l.limit {
			busy++
		}
		planned, sent := calls.Between(l.answered, l.end).Busiest()
		t.Logf("%d: %s %v from asking: limit %v, %.0f/s before, answered after %v, busiest second since: %d taken up, %d made",
			i, l.fault, l.moment, l.limit, before, ms(l.answered.Sub(l.asked)), planned, sent)
		late := calls.Between(l.answered.Add(time.Second), l.end)
		if _, sent := late.Busiest(); float64(planned) > l.limit || float64(sent) > l.limit*lateSends {
			t.Errorf("lowering %d: %d taken up within a second after the answer, %d made within one that began a second later; the limit is %v",
				i, planned, sent, l.limit)
		}
	}
	if busy == 0 {
		t.Error("the limit was never used up before it was lowered")
	}
}

// lowered is the fleet, and what is done to it.
type lowered struct {
	fleet   *fleettest.Fleet
	proxies map[int]*faultproxy.Proxy
	random  *rand.Rand
}

// flows reports whether some node uses most of what it may.
func (w *lowered) flows() bool {
	for _, n := range w.fleet.Observed() {
		for i := range n.Resources {
			if n.Resources[i].Use > 0.5 {
				return true
			}
		}
	}
	return false
}

// lower lowers the limit while something is done to the leader, and returns when that is over.
func (w *lowered) lower() lowering {
	l := lowering{
		limit:  float64(200 + w.random.IntN(500)),
		moment: time.Duration(w.random.IntN(1200)-600) * time.Millisecond,
	}
	lasts := time.Duration(200+w.random.IntN(2800)) * time.Millisecond
	name, begin, end := w.fault()
	l.fault = name
	if l.moment < 0 {
		begin()
		while(-l.moment)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if l.moment >= 0 {
			while(l.moment)
			begin()
		}
		while(max(lasts+min(l.moment, 0), 0))
	}()
	l.asked = time.Now()
	l.answered = w.fleet.SetRate(l.limit)
	while(loweredFor)
	l.end = time.Now()
	<-over
	end()
	return l
}

// fault returns a fault of the leader: how it begins, and ends.
func (w *lowered) fault() (name string, begin, end func()) {
	n := w.fleet.Leader()
	if n == nil { // the last one is dead, and its lease is not over
		n = w.fleet.Nodes[w.random.IntN(len(w.fleet.Nodes))]
	}
	p := w.proxies[n.Number()]
	switch w.random.IntN(4) {
	case 0:
		return "killed", n.Kill, n.Start
	case 1:
		return "frozen", n.Freeze, n.Thaw
	case 2:
		return "not heard", func() { n.Cut(); p.Set(faultproxy.Faults{Drop: faultproxy.Up}) }, p.Heal
	}
	return "cut off", func() { n.Cut(); p.Set(faultproxy.Faults{Stall: true}) }, p.Heal
}
