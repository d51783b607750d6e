package telemetry

import (
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/core/sched"
)

// A tenant that comes back to a lane is told with what it gets now: what it got before is not of the last second.
func TestATenantThatComesBackHasTheRateOfNow(t *testing.T) {
	lane, now := &laneTotals{}, int64(0)
	look := func(top ...sched.TenantLoad) {
		now += int64(time.Second)
		load := partition.LaneLoad{}
		load.Taken, load.Top = 150, top
		lane.addTenants(now, &load)
	}
	load := func(name string, taken int64) sched.TenantLoad {
		return sched.TenantLoad{Name: name, Backlog: 10, Taken: taken}
	}
	flood := int64(0)
	for i := range int64(30) { // both, then the flood alone
		if flood += 75; i < 10 {
			look(load("flood", flood), load("small", 75*(i+1)))
		} else {
			look(load("flood", flood))
		}
	}
	look(load("flood", flood+75), load("small", 10*75+75))
	rates := map[string]float64{}
	sum := 0.0
	for _, x := range lane.Tenants {
		rates[x.Tenant] = x.Rate
		sum += x.Rate
	}
	if rates["small"] > 75 || sum > lane.Rate*1.01 {
		t.Errorf("the tenants get %v, together %v; want at most 75 each, and the %v of the lane", rates, sum, lane.Rate)
	}
	look(load("flood", flood+150), load("new", 5000))
	if got := lane.Tenants[1]; got.Rate > 150*rateOver*1.01 {
		t.Errorf("a tenant that was not seen before gets %v, want no more than the lane took", got.Rate)
	}
}
