package capacity

import (
	"slices"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/sched"
)

// running is a task that ends at a time.
type running struct {
	pick  sched.Pick
	since int64
	end   int64
}

// busyOf plays tenants with endless work on a resource for a time, and returns how many tasks of
// each were in flight on average in the second half. takes says how long a call of a tenant takes.
func busyOf(r weir.Resource, tenants []string, span int64, takes func(now int64, tenant string) int64) map[string]float64 {
	n := New(Config{Slots: 64})
	p := openParty(n, hour)
	of := map[*sched.Entry]string{}
	for _, t := range tenants {
		of[work(p, hour, t, r, 1e6)] = t
	}
	var all []running
	busy := map[string]float64{}
	for now := hour; now < hour+span; now += span / 10_000 {
		all = slices.DeleteFunc(all, func(x running) bool {
			if x.end > now {
				return false
			}
			p.Done(now, x.pick, &Ending{Service: now - x.since})
			return true
		})
		for _, pick := range takeAll(p, now, 1e6) {
			all = append(all, running{pick, now, now + takes(now-hour, of[pick.Entry])})
		}
		if now >= hour+span/2 {
			for _, x := range all {
				busy[of[x.pick.Entry]] += 1.0 / 5000
			}
		}
	}
	return busy
}

// TestAConcurrencyIsSharedByTime: however long a tenant's calls take, it has no more of them
// in flight than others who have work on the resource.
func TestAConcurrencyIsSharedByTime(t *testing.T) {
	const ms, sec = int64(1e6), int64(1e9)
	api := weir.Resource{Name: "api", Concurrency: 8}
	for name, slow := range map[string]func(now int64) int64{
		"slow":          func(int64) int64 { return sec },
		"hangs":         func(int64) int64 { return 30 * sec },
		"begins to":     func(now int64) int64 { return map[bool]int64{true: 30 * sec, false: 50 * ms}[now > 2*sec] },
		"a little slow": func(int64) int64 { return 150 * ms },
	} {
		t.Run(name, func(t *testing.T) {
			busy := busyOf(api, []string{"quick", "slow"}, 20*sec, func(now int64, tenant string) int64 {
				if tenant == "slow" {
					return slow(now)
				}
				return 50 * ms
			})
			if busy["quick"] < 3.5 || busy["quick"]+busy["slow"] < 7.5 {
				t.Errorf("in flight on average: %v, want 4 of each", busy)
			}
		})
	}
}
