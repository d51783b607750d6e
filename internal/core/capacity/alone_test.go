package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/sched"
)

// pair is two tenants on one resource, whose tasks a test ends as it likes.
type pair struct {
	t    *testing.T
	node *Node
	p    *Party
	r    *Resource
	of   map[string]*sched.Entry
}

func newPair(t *testing.T) *pair {
	x := &pair{t: t, node: New(Config{Slots: 8}), of: map[string]*sched.Entry{}}
	x.p = openParty(x.node, hour)
	for _, tenant := range []string{"a", "b"} {
		x.of[tenant] = work(x.p, hour, tenant, weir.Resource{Name: "api"}, 1000)
	}
	x.r = x.p.Resource(weir.Resource{Name: "api"})
	return x
}

// take starts a task of a tenant.
func (x *pair) take(now int64, tenant string) sched.Pick {
	x.t.Helper()
	pick, _, ok := x.p.Take(now, x.of[tenant], 1)
	if !ok {
		x.t.Fatalf("no task of %s may start", tenant)
	}
	return pick
}

func (x *pair) fail(now int64, tenant string) Broken {
	x.t.Helper()
	return x.p.Done(now, x.take(now, tenant), &Ending{Service: 1, Failed: true, Code: "http_5xx"})
}

func (x *pair) succeed(now int64, tenant string) {
	x.t.Helper()
	x.p.Done(now, x.take(now, tenant), &Ending{Service: 1})
}

func TestOnlySuccessesAfterTheFirstFailureSetATenantApart(t *testing.T) {
	const ms = int64(time.Millisecond)
	x := newPair(t)
	early := x.take(hour, "b") // sent before the downstream broke
	for i := range int64(5) {
		x.fail(hour+i, "a")
	}
	x.p.Done(hour+ms, early, &Ending{Service: 1})
	if got := x.fail(hour+2*ms, "a"); got.Tenant {
		t.Fatal("a call that was sent before the first failure set the tenant apart")
	}
	x.succeed(hour+3*ms, "b")
	if got := x.fail(hour+4*ms, "a"); !got.Tenant || got.Downstream {
		t.Errorf("broken = %+v, want the tenant alone", got)
	}
	if _, ok := x.p.CanTake(hour+5*ms, x.of["a"]); ok {
		t.Error("the tenant is called again at once")
	}
	if _, ok := x.p.CanTake(hour+5*ms, x.of["b"]); !ok {
		t.Error("the other tenant has to wait, too")
	}
	if text := x.r.Describe(hour).Text; !strings.Contains(text, "tenant a") {
		t.Errorf("people are told %q", text)
	}
}

func TestATenantIsNotSetApartForLong(t *testing.T) {
	x := newPair(t)
	const second = int64(time.Second)
	last := int64(0)
	for now := hour; now < hour+2*aloneFor; now += second {
		x.succeed(now, "b")
		if _, ok := x.p.CanTake(now, x.of["a"]); ok && x.fail(now, "a").Tenant {
			last = now
		}
	}
	if last < hour+aloneFor/2 || last > hour+aloneFor {
		t.Errorf("its items were spared until %s after the first failure, want about %s", time.Duration(last-hour), time.Duration(aloneFor))
	}
	for range 4 {
		x.succeed(hour+2*aloneFor, "a")
	}
	if text := x.r.Describe(hour).Text; text != "" {
		t.Errorf("after some successes people are told %q", text)
	}
}

// A tenant whose second step alone fails is set apart although its first one, on the same
// resource, succeeds. What succeeds in one partition is known in all.
func TestEachStepOfATenantIsLookedAtByItself(t *testing.T) {
	const ms = int64(time.Millisecond)
	x := newPair(t)
	bulk := x.p.AddBulk("a", sched.BulkConfig{Tier: 2, Submit: hour})
	x.of["a, step 2"] = x.p.AddEntry(bulk, x.r, 1, nil)
	x.p.Update(hour, x.of["a, step 2"], 1, 100)
	other := openParty(x.node, hour)
	e := work(other, hour, "b", weir.Resource{Name: "api"}, 1000)
	var got Broken
	last := int64(0) // success, in the other partition
	for now := hour; now < hour+10*ms && !got.Tenant; now += ms {
		if got = x.fail(now, "a, step 2"); got.Well != last {
			t.Errorf("well = %d, want %d, when the newest call started that succeeded", got.Well, last)
		}
		if !got.Tenant {
			x.succeed(now, "a")
		}
		pick, _, _ := other.Take(now+ms/2, e, 1)
		other.Done(now+ms/2, pick, &Ending{Service: 1})
		last = pick.At
	}
	if !got.Tenant {
		t.Errorf("broken = %+v after ten failures at the second step", got)
	}
}

// A call that was sent before the circuit opened says nothing against its tenant when it succeeds.
func TestALateSuccessDoesNotCloseItsTenant(t *testing.T) {
	x := newPair(t)
	late := x.take(hour, "b")
	for !x.fail(hour, "a").Downstream {
	}
	x.p.Done(hour+1, late, &Ending{Service: 1})
	for now := hour + 1; now < hour+flow.OpenFor(0, 1)+int64(time.Millisecond); now += int64(time.Millisecond) {
		if pick, ok := x.p.Next(now); ok && pick.Entry == x.of["b"] {
			return
		}
	}
	t.Error("the tenant whose call succeeded had no call when the circuit was half-open")
}

// When a downstream fails from its first call on, the next one is another tenant's.
func TestATenantThatFailsFirstDoesNotTakeAllProbes(t *testing.T) {
	x := newPair(t)
	x.p.Probe(x.r)
	if got := x.fail(hour, "a"); !got.Downstream {
		t.Fatal("the first call failed, and the circuit is closed")
	}
	for now := hour; now < hour+int64(5*time.Second); now += int64(time.Millisecond) {
		pick, ok := x.p.Next(now)
		if !ok {
			continue
		}
		if by := pick.Entry.Bulk().Tenant().Name(); by != "b" {
			t.Fatalf("the next call, %s later, is one of tenant %s", time.Duration(now-hour), by)
		}
		return
	}
	t.Fatal("no call was made in 5 s")
}

// A probe by hand goes at once, also where only the tenant has work whose call opened the circuit.
func TestAProbeByHandNeedsNoOtherTenant(t *testing.T) {
	x := newPair(t)
	x.p.Probe(x.r)
	if got := x.fail(hour, "a"); !got.Downstream {
		t.Fatal("the first call failed, and the circuit is closed")
	}
	x.p.Update(hour, x.of["b"], 0, 0)
	if _, ok := x.p.Next(hour + 1); ok {
		t.Fatal("a call started while the circuit was open")
	}
	x.r.Try(hour+2, 7)
	pick, ok := x.p.Next(hour + 2)
	if !ok {
		t.Fatal("no call started when a probe was asked for")
	}
	x.p.Done(hour+3, pick, &Ending{Service: 1, Failed: true})
	x.r.Try(hour+4, 7)
	if _, ok := x.p.Next(hour + 4); ok {
		t.Error("one request made two probes")
	}
}
