package partition

import (
	"fmt"
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
// endpoint looks dead, or dead for this tenant, until a call of one item succeeds.
func TestABulkActionWithPoisonInEveryBatchEnds(t *testing.T) {
	for _, others := range []int{0, 2} {
		t.Run(fmt.Sprint(others, " other tenants"), func(t *testing.T) {
			b := newBench(t)
			b.flow = true
			b.m = New(b.config(), 0)
			b.chains["c"] = steps(1, 20)
			b.chains["c"][0].Remote = true
			b.chains["c"][0].Resource.Concurrency = 6
			for i := range others {
				name := string(rune('a' + i))
				b.message(envelope{Created: &Created{ID: weir.BulkID("ba_" + name), Tenant: name, Chain: "c", Steps: []string{"a"}, Items: 1e6}})
			}
			b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "x", Chain: "c", Steps: []string{"a"}, Items: 400}})
			done, took := runPoisoned(t, b, func(item int64) bool { return item%20 == 0 })
			if done["x"] != 380 || took > 90*time.Second {
				t.Errorf("%d items were done in %s, want 380", done["x"], took)
			}
			for i := range others { // six calls of 20 items at once, of 0.1 s each
				if rate := float64(done[string(rune('a'+i))]) / took.Seconds(); rate < 300 {
					t.Errorf("another tenant had %.0f items a second, want at least 300 of a fair 400", rate)
				}
			}
		})
	}
}

// runPoisoned runs until ba_x has ended. Calls take 0.1 s; one with an item of it for which fails is true fails.
func runPoisoned(t *testing.T, b *bench, fails func(item int64) bool) (done map[string]int, took time.Duration) {
	t.Helper()
	type call struct {
		task *Task
		ends int64
	}
	var calls []call
	done = map[string]int{}
	begin, steered := b.now, b.now
	for x := b.m.bulks["ba_x"]; x != nil; x = b.m.bulks["ba_x"] {
		if at := time.Duration(b.now - begin); at > 10*time.Minute || x.state != weir.BulkRunning {
			t.Fatalf("it is %v after %s, with %d done and %d failed: %s", x.state, at, x.status.Done, x.status.Failed, x.status.Reason)
		}
		for len(calls) > 0 && calls[0].ends <= b.now {
			task := calls[0].task
			calls = calls[1:]
			r := &Result{Task: task, Service: 100e6, Outcomes: b.allDone(task)}
			for _, item := range task.Items {
				if task.Tenant == "x" && fails(task.l.base+int64(item)) {
					r.Failure = &Failure{Code: "http_5xx", Message: "no"}
				}
			}
			if r.Failure == nil {
				done[task.Tenant] += len(task.Items)
			}
			b.m.Result(b.now, r)
		}
		for _, task := range b.settle() {
			calls = append(calls, call{task, b.now + 100e6})
		}
		b.now += int64(5 * time.Millisecond)
		if b.now-steered >= int64(flow.Window) {
			b.has.Steer(b.now)
			steered = b.now
		}
	}
	return done, time.Duration(b.now - begin)
}
