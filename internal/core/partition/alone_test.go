package partition

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/flow"
)

// runFive has five tenants share 100 items a second; calls fail for which down says so. It
// runs until the first tenant, which has so many items, has nothing left, or for a time.
func runFive(t *testing.T, items int64, runFor time.Duration, down func(at time.Duration, tenant string, item int64) bool) (b *bench, done map[string][]time.Duration) {
	t.Helper()
	b = newBench(t)
	b.flow = true
	b.m = New(b.config(), 0)
	b.chains["c"] = steps(1, 1)
	b.chains["c"][0].Resource.Rate = 100
	for i, items := range []int64{items, 1e6, 1e6, 1e6, 1e6} {
		name := string(rune('a' + i))
		b.message(envelope{Created: &Created{ID: weir.BulkID("ba_" + name), Tenant: name, Chain: "c", Steps: []string{"a"}, Items: items}})
	}
	done = map[string][]time.Duration{}
	begin, steered := b.now, b.now
	for {
		at := time.Duration(b.now - begin)
		tasks := b.settle()
		for _, task := range tasks {
			r := &Result{Task: task, Service: 1e6}
			if down(at, task.Tenant, task.l.base+int64(task.Items[0])) {
				r.Failure = &Failure{Code: "http_500", Message: "no"}
			} else {
				r.Outcomes = b.allDone(task)
				done[task.Tenant] = append(done[task.Tenant], at)
			}
			b.m.Result(b.now, r)
		}
		if at > runFor || b.m.bulks["ba_a"] == nil {
			return b, done
		}
		if b.now-steered >= int64(flow.Window) {
			b.has.Steer(b.now)
			steered = b.now
		}
		if len(tasks) == 0 {
			b.now += int64(time.Millisecond)
		}
	}
}

// between counts what was done in a part of the run.
func between(done []time.Duration, from, to time.Duration) (n int) {
	for _, at := range done {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

func TestATenantThatAloneFailsStopsNoOther(t *testing.T) {
	const from, to = 10 * time.Second, 85 * time.Second
	b, done := runFive(t, 4000, 3*time.Minute, func(at time.Duration, tenant string, _ int64) bool { return tenant == "a" && at >= from && at < to })
	for _, tenant := range []string{"b", "c", "d", "e"} {
		if n := between(done[tenant], from, to); n < 20*75 {
			t.Errorf("%s got %d items done in 75 s beside a tenant that fails, want 20 a second", tenant, n)
		}
	}
	if n := between(done["a"], to, to+30*time.Second); n < 15*30 {
		t.Errorf("a got %d items done in 30 s after its outage", n)
	}
	if s := b.m.bulks["ba_a"].status; s.Failed != 0 {
		t.Errorf("%d items of the tenant failed because of an outage of 75 s", s.Failed)
	}
	calls := b.m.bulks["ba_a"].status.Steps[0].Calls - int64(len(done["a"]))
	if calls > 50 {
		t.Errorf("the tenant's downstream was called %d times in vain, want one every few seconds", calls)
	}
}

// Items that no downstream would take look like an outage of their tenant. They end all
// the same, and soon where others of their bulk action are taken.
func TestItemsThatAlwaysFailEndBesideOtherTenants(t *testing.T) {
	for _, c := range []struct {
		what   string
		fails  func(item int64) bool
		within time.Duration
	}{
		{"every fourth", func(item int64) bool { return item%4 == 0 }, time.Minute},
		{"the last hundred", func(item int64) bool { return item >= 300 }, 5 * time.Minute},
	} {
		last := time.Duration(0)
		b, done := runFive(t, 400, time.Hour, func(at time.Duration, tenant string, item int64) bool {
			last = at
			return tenant == "a" && c.fails(item)
		})
		if b.m.bulks["ba_a"] != nil || len(done["a"]) != 300 {
			t.Errorf("%s: ended = %v with %d items done, want 300", c.what, b.m.bulks["ba_a"] == nil, len(done["a"]))
		}
		if last > c.within {
			t.Errorf("%s: the end came after %s, want %s", c.what, last, c.within)
		}
	}
}

// A batch fails with any of its items. Where every batch has one that always fails, the
// endpoint looks dead, until a call of one item succeeds.
func TestABulkActionWithPoisonInEveryBatchEnds(t *testing.T) {
	b := newBench(t)
	b.flow = true
	b.m = New(b.config(), 0)
	b.chains["c"] = steps(1, 100)
	b.chains["c"][0].Remote = true
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: 3000}})
	begin, steered := b.now, b.now
	var done, failed, calls int64
	for b.m.bulks["ba_x"] != nil {
		x := b.m.bulks["ba_x"]
		done, failed = x.status.Done, x.status.Failed
		if at := time.Duration(b.now - begin); at > 10*time.Minute || x.state != weir.BulkRunning {
			t.Fatalf("it is %v after %s, with %d done, %d failed and %d calls: %s", x.state, at, done, failed, calls, x.status.Reason)
		}
		for _, task := range b.settle() {
			calls++
			r := &Result{Task: task, Service: 20e6, Outcomes: b.allDone(task)}
			for _, item := range task.Items {
				if (task.l.base+int64(item))%20 == 0 {
					r.Failure = &Failure{Code: "http_5xx", Message: "no"}
				}
			}
			b.m.Result(b.now, r)
		}
		b.now += int64(10 * time.Millisecond)
		if b.now-steered >= int64(flow.Window) {
			b.has.Steer(b.now)
			steered = b.now
		}
	}
	if took := time.Duration(b.now - begin); done+failed < 2990 || failed < 140 || took > 3*time.Minute {
		t.Errorf("%d done and %d failed just before the end, after %s and %d calls", done, failed, took, calls)
	} else {
		t.Logf("%s, %d calls", took, calls)
	}
}
