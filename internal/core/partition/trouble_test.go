package partition

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/sched"
)

var (
	refusesConnections = &Failure{Code: "unreachable", Message: "unreachable: dial tcp 127.0.0.1:1: connect: connection refused"}
	notFound           = &Failure{Code: "http_404", Message: "answered 404 Not Found", Misconfigured: true}
	tooBusy            = &Failure{Code: "refused", Message: "429 Too Many Requests", Refused: true}
)

// dead is a bench with a bulk action of 1,000 items, of which nothing has been called.
func dead(t *testing.T, rule weir.StopRule) *bench {
	b := newBench(t)
	b.chains["c"] = []weir.Step{{
		Name: "award", Action: "award", BatchSize: 10, Resource: weir.Resource{Name: "r", Concurrency: 1},
		Retry: weir.Backoff{MaxAttempts: 250, Base: time.Second, Cap: time.Second},
	}}
	b.message(envelope{Created: &Created{
		ID: "A", Tenant: "t", Chain: "c", Steps: []string{"award"}, Items: 1000, Submitted: b.now, StopOn: rule, Notify: true,
	}})
	return b
}

// call answers the tasks that start within a time by f, or by done where that is
// nil. Each takes half a second.
func (b *bench) call(f *Failure, within time.Duration) (calls int) {
	for end := b.now + int64(within); b.now < end; b.now += int64(100 * time.Millisecond) {
		for tasks := b.settle(); len(tasks) > 0; tasks = b.tasksUntil(end) {
			for _, t := range tasks {
				r := &Result{Task: t, Failure: f, Service: 1e6}
				for range t.Items {
					r.Outcomes = append(r.Outcomes, weir.Outcome{Kind: weir.OutcomeDone})
				}
				b.now += int64(500 * time.Millisecond)
				b.m.Result(b.now, r)
				calls++
			}
		}
	}
	return calls
}

// tasksUntil is settle, and stops the machine when the time is over.
func (b *bench) tasksUntil(end int64) []*Task {
	if b.now >= end {
		b.m.Stop()
		defer b.m.Proceed()
	}
	return b.settle()
}

// status returns the stored status of A.
func (b *bench) status() *Status {
	b.t.Helper()
	_, s, err := ReadStatus(b.rows, "A")
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func TestABulkActionWhoseCallsNeverSucceedIsStopped(t *testing.T) {
	for _, tt := range []struct {
		name    string
		failure *Failure
		running time.Duration // it still runs then
		stopped time.Duration // and not any more then
	}{
		{"connections are refused", refusesConnections, 29 * time.Second, 32 * time.Second},
		{"the URL is wrong", notFound, 4 * time.Second, 7 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := dead(t, weir.StopRule{})
			b.call(tt.failure, tt.running)
			if s := b.status(); s.State != weir.BulkRunning || s.Cause == nil || !s.Cause.Failing || s.Cause.Message != tt.failure.Message {
				t.Fatalf("after %v it is %v, and calls fail for %+v", tt.running, s.State, s.Cause)
			}
			b.call(tt.failure, tt.stopped-tt.running)
			s := b.status()
			if s.State != weir.BulkStopped || !strings.Contains(s.Reason, "no call of step award has succeeded") || !strings.Contains(s.Reason, tt.failure.Message) {
				t.Errorf("after %v it is %v: %q", tt.stopped, s.State, s.Reason)
			}
			if n := b.call(tt.failure, time.Minute); n != 0 {
				t.Errorf("%d calls after it was stopped", n)
			}
		})
	}
}

func TestAStoppedBulkActionGoesOnWhenItIsResumed(t *testing.T) {
	b := dead(t, weir.StopRule{})
	b.call(refusesConnections, 40*time.Second)
	b.message(envelope{Command: &Command{ID: "A", Verb: Resume}})
	b.call(refusesConnections, 20*time.Second)
	if s := b.status(); s.State != weir.BulkRunning {
		t.Fatalf("20 s after the resume it is %v: the rule did not begin anew", s.State)
	}
	b.call(nil, 2*time.Minute)
	if s := b.status(); s.State != weir.BulkCompleted || s.Done != 1000 {
		t.Errorf("it is %v with %d done, want completed with all", s.State, s.Done)
	}
}

func TestWhatGoesOnAlthoughCallsFail(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rule    weir.StopRule
		first   *Failure
		before  time.Duration
		failure *Failure
		fails   time.Duration
	}{
		{"an endpoint that has answered restarts", weir.StopRule{}, nil, time.Second, refusesConnections, 5 * time.Minute},
		{"the caller wants it", weir.StopRule{KeepTrying: true}, nil, 0, refusesConnections, 50 * time.Second},
		{"the downstream asks for a pause", weir.StopRule{}, nil, 0, tooBusy, 10 * time.Minute},
		{"a takeover begins anew", weir.StopRule{}, refusesConnections, 20 * time.Second, refusesConnections, 20 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := dead(t, tt.rule)
			b.call(tt.first, tt.before)
			if tt.first != nil {
				b.reload()
			}
			b.call(tt.failure, tt.fails)
			if s := b.status(); s.State != weir.BulkRunning {
				t.Errorf("it is %v: %s", s.State, s.Reason)
			}
		})
	}
}

func TestAnEndpointThatAnsweredOthersHasTwoMinutes(t *testing.T) {
	for name, answers := range map[string]func(b *bench){
		"a bulk action of this partition": func(b *bench) { b.m.answered["award"] = true },
		"one that ended before a restart": func(b *bench) {
			b.message(envelope{Created: &Created{
				ID: "B", Tenant: "u", Chain: "c", Steps: []string{"award"}, Items: 10, Submitted: b.now,
			}})
			for ended := false; !ended; {
				for _, task := range b.settle() {
					r := &Result{Task: task, Service: 1e6, Outcomes: make([]weir.Outcome, len(task.Items))}
					if ended = task.Bulk == "B"; !ended {
						r.Failure = refusesConnections
					}
					for i := range r.Outcomes {
						r.Outcomes[i].Kind = weir.OutcomeDone
					}
					b.m.Result(b.now, r)
				}
				b.now += int64(time.Second)
			}
			b.settle()
			b.reload()
		},
		"a bulk action of another of this node": func(b *bench) {
			b.flow = true
			b.reload()
			other := b.has.Join(nil)
			other.SetOpen(b.now, true)
			e := other.AddEntry(other.AddBulk("u", sched.BulkConfig{Submit: b.now}), other.Resource(weir.Resource{Name: "r"}), 0, nil)
			other.Update(b.now, e, 1, 0)
			pick, _, _ := other.Take(b.now, e, 1)
			other.Done(b.now, pick, &capacity.Ending{Service: 1})
			other.Update(b.now, e, 0, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := dead(t, weir.StopRule{})
			answers(b)
			b.call(refusesConnections, 110*time.Second)
			if s := b.status(); s.State != weir.BulkRunning {
				t.Fatalf("it is %v after 110 s", s.State)
			}
			b.call(refusesConnections, 30*time.Second)
			if s := b.status(); s.State != weir.BulkStopped {
				t.Errorf("it is %v after 140 s", s.State)
			}
		})
	}
}

func TestAFailureRuleCountsItemsThatWaitForADeadEndpoint(t *testing.T) {
	b := dead(t, weir.StopRule{FailureRate: 0.05, MinItems: 10, KeepTrying: true})
	b.call(notFound, 10*time.Second)
	if s := b.status(); s.State != weir.BulkStopped || !strings.HasPrefix(s.Reason, "failure rule: ") || s.Failed != 0 {
		t.Errorf("it is %v with %d failed: %q", s.State, s.Failed, s.Reason)
	}
}

func TestItemsRejectedOneByOneMayBeWrongThemselves(t *testing.T) {
	c := calls{}
	v := verdict{failed: true, rejected: true}
	for range rejectedItems - 1 {
		c.failed(1, &v, 1)
	}
	if c.dead(int64(time.Hour)) {
		t.Errorf("stopped after %d items that were rejected one by one", c.Rejected)
	}
	if c.failed(1, &v, 1); !c.dead(2) {
		t.Errorf("not stopped after %d", c.Rejected)
	}
}

func TestTheLastErrorCountsCallsThatFailedForTheSameReason(t *testing.T) {
	b := &bulk{}
	for i, message := range []string{"request 111111 failed", "closed", "request 222222 failed"} {
		b.blame(int64(i+1), 0, &verdict{code: "x", message: message})
	}
	if c := b.lastCause(); c.Count != 2 || c.First != 1 || c.Last != 3 || c.Message != "request 222222 failed" {
		t.Errorf("last error = %+v, want two, the newest of which is the third", c)
	}
}

func TestAWrongEndpointHoldsUpItsBulkActionAlone(t *testing.T) {
	b := dead(t, weir.StopRule{KeepTrying: true})
	b.message(envelope{Created: &Created{ID: "B", Tenant: "t", Chain: "c", Steps: []string{"award"}, Items: 1000, Submitted: b.now}})
	calls := map[weir.BulkID]int{}
	for end := b.now + int64(time.Minute); b.now < end; b.now += int64(100 * time.Millisecond) {
		for tasks := b.settle(); len(tasks) > 0; tasks = b.tasksUntil(end) {
			for _, t := range tasks {
				r := &Result{Task: t, Service: 1e6}
				for range t.Items {
					r.Outcomes = append(r.Outcomes, weir.Outcome{Kind: weir.OutcomeDone})
				}
				if calls[t.Bulk]++; t.Bulk == "A" {
					r.Failure = notFound
				}
				b.m.Result(b.now, r)
			}
		}
	}
	if calls["A"] < 5 || calls["A"] > 10 || calls["B"] != 100 {
		t.Errorf("in a minute %d calls of the one whose endpoint is wrong, want one every ten seconds; %d of the other, want 100", calls["A"], calls["B"])
	}
}
