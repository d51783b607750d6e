//go:build unix

package fleettest_test

import (
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/fleettest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/internal/testkit/testenv/faultproxy"
	"github.com/weirhq/weir/store/redisstore"
)

// The network between one node and its store goes wrong, and is well again. The
// others do its work meanwhile, and it takes part again within 5 s.
func TestABadNetworkOfOneNodeDoesNoHarm(t *testing.T) {
	hold := func(f faultproxy.Faults, d time.Duration) func(*faultproxy.Proxy) {
		return func(p *faultproxy.Proxy) {
			p.Set(f)
			while(d)
		}
	}
	for _, tt := range []struct {
		name  string
		fault func(*faultproxy.Proxy)
	}{
		{"50 ms of latency", hold(faultproxy.Faults{Latency: 50 * time.Millisecond, Jitter: 10 * time.Millisecond}, 2*time.Second)},
		{"a storm of resets", func(p *faultproxy.Proxy) {
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end); while(40 * time.Millisecond) {
				p.Reset()
			}
		}},
		{"nothing gets to the store", hold(faultproxy.Faults{Drop: faultproxy.Up}, lease+time.Second)},
		{"no answer gets back", hold(faultproxy.Faults{Drop: faultproxy.Down}, lease+time.Second)},
		{"half-open for 5 s", hold(faultproxy.Faults{Stall: true}, 5*time.Second)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := testenv.Redis(t)
			p := faultproxy.New(t, r.Addr)
			f := fleettest.New(t, fleettest.Config{
				Addresses: []string{r.Addr}, Mode: redisstore.Memory, LeaseFor: lease, Via: map[int]string{1: p.Addr},
			})
			stop := f.Busy(8, 300)
			while(time.Second)
			cut, began := f.Nodes[1], time.Now()
			cut.Cut()
			tt.fault(p)
			p.Heal()
			healed := time.Now()
			while(2 * time.Second)
			stop()
			v := f.Judge(patience)
			still, _ := v.Calls.Resumed(cut.Life(), began)
			back, again := v.Calls.First(cut.Life(), healed)
			t.Logf("others went on with its work after %v; it called again %v after the end (%v); longest pauses %v; items by life %v",
				ms(still), ms(back), again, v.Calls.Gaps()[:3], v.Calls.Lives())
			if !again || back > 2*lease+4*time.Second { // a read that hangs is given up after 4 s
				t.Errorf("the node is not back: %v, %v", again, back)
			}
			if g := v.Calls.Gaps()[0]; g.Long > 2*lease+4*time.Second {
				t.Errorf("a partition that others have stood still: %v", g)
			}
		})
	}
}
