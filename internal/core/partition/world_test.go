package partition

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/flow"
)

// world is a bench with flow control and a downstream. Each call takes the same time.
type world struct {
	*bench
	begin  int64
	takes  time.Duration
	answer func(t *Task, r *Result) // r says that all is done
	steer  int64
	flying []callEnd // in the order of their ends
	calls  []callAt  // all that were made
}

type callEnd struct {
	r    *Result
	ends int64
}

type callAt struct {
	at             time.Duration
	bulk           weir.BulkID
	items, attempt int
}

// newWorld has one step on a resource, and a bulk action A.
func newWorld(t *testing.T, def weir.Step, items int64) *world {
	def.Name, def.Action, def.Resource.Name, def.Retry = "a", "a", "r", def.Retry.WithDefaults()
	w := &world{bench: newBench(t), takes: 100 * time.Millisecond}
	w.flow = true
	w.m = New(w.config(), 0)
	w.begin = w.now
	w.chains["c"] = []weir.Step{def}
	w.add("A", items)
	return w
}

func (w *world) add(id weir.BulkID, items int64) {
	w.message(envelope{Created: &Created{ID: id, Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: items, Submitted: w.now}})
}

// since is the time since the beginning.
func (w *world) since() time.Duration { return time.Duration(w.now - w.begin) }

// run goes on until all has ended, or until a time since the beginning.
func (w *world) run(until time.Duration) {
	for end := w.begin + int64(until); w.now < end && (len(w.m.bulks) > 0 || w.bench.flying != nil); {
		do := w.advance()
		for _, t := range do.Start {
			r := &Result{Task: t, Outcomes: w.allDone(t), Service: int64(w.takes)}
			w.calls = append(w.calls, callAt{w.since(), t.Bulk, len(t.Items), t.Attempt})
			w.answer(t, r)
			w.flying = append(w.flying, callEnd{r, w.now + int64(w.takes)})
		}
		if w.bench.flying != nil {
			w.commit()
			continue
		}
		next := min(do.Wake, w.steer, end)
		if len(w.flying) > 0 {
			next = min(next, w.flying[0].ends)
		}
		w.now = max(w.now, next)
		for len(w.flying) > 0 && w.flying[0].ends <= w.now {
			w.m.Result(w.now, w.flying[0].r)
			w.flying = w.flying[1:]
		}
		if w.steer <= w.now {
			w.has.Steer(w.now)
			w.steer = w.now + int64(flow.Window)
		}
	}
	w.m.Stop()
	w.settle()
	w.m.Proceed()
}

// counts returns the stored counts of a bulk action.
func (w *world) counts(id weir.BulkID) *Status {
	w.t.Helper()
	_, s, err := ReadStatus(w.rows, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// ended fails unless the bulk action has ended by a time with so many failed items.
func (w *world) ended(id weir.BulkID, by time.Duration, failed int64) {
	w.t.Helper()
	s := w.counts(id)
	if w.m.bulks[id] != nil || w.since() > by || s.Failed != failed {
		w.t.Errorf("%s after %v, %d calls: state %s, %d done, %d failed; want its end by %v with %d failed",
			id, w.since(), len(w.calls), s.State, s.Done, s.Failed, by, failed)
	}
}

// TestAnItemThatIsNotReadyIsNoTroubleOfItsEndpoint: each item is done at its second
// attempt. The circuit used to open, and 110 of 4,000 items were done in 45 s.
func TestAnItemThatIsNotReadyIsNoTroubleOfItsEndpoint(t *testing.T) {
	w := newWorld(t, weir.Step{BatchSize: 10, Resource: weir.Resource{Rate: 1000}}, 4000)
	w.answer = func(t *Task, r *Result) {
		for i := range r.Outcomes {
			if t.Attempt == 1 {
				r.Outcomes[i] = weir.Outcome{Kind: weir.OutcomeRetry, Code: "not_yet"}
			}
		}
	}
	w.run(time.Minute)
	w.ended("A", 30*time.Second, 0)
	var failed int
	for _, l := range w.m.Observe(w.now, nil) {
		failed += l.Failed
	}
	if failed > 0 {
		t.Errorf("scaling sees %d failed tasks, want none", failed)
	}
}

// TestAnOutageFailsNoItem: calls that find out whether it is over cost no attempt.
func TestAnOutageFailsNoItem(t *testing.T) {
	for _, tt := range []struct {
		name     string
		def      weir.Step
		items    int64
		from, to time.Duration
	}{
		{"a minute", weir.Step{BatchSize: 10, Resource: weir.Resource{Rate: 100}}, 2000, 5 * time.Second, 65 * time.Second},
		{"minutes, item by item", weir.Step{BatchSize: 1, Resource: weir.Resource{Rate: 50}}, 1000, 5 * time.Second, 155 * time.Second},
		{"an hour, without a rate", weir.Step{BatchSize: 10}, 5000, 2 * time.Second, time.Hour},
		{"an hour, few items", weir.Step{BatchSize: 1, Resource: weir.Resource{Concurrency: 2}}, 80, 2 * time.Second, time.Hour},
		{"an hour, two attempts", weir.Step{BatchSize: 5, Resource: weir.Resource{Rate: 100}, Retry: weir.Backoff{MaxAttempts: 2}}, 1000, 2 * time.Second, time.Hour},
		{"an hour at one a second", weir.Step{BatchSize: 1, Resource: weir.Resource{Rate: 1}}, 100, 5 * time.Second, time.Hour},
		{"before the first success", weir.Step{BatchSize: 10, Remote: true}, 30, 0, 20 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.def, tt.items)
			w.answer = func(t *Task, r *Result) {
				if at := w.since(); at >= tt.from && at < tt.to {
					r.Failure = &Failure{Code: "http_500"}
				}
			}
			w.run(tt.to + 5*time.Minute)
			w.ended("A", tt.to+3*time.Minute, 0)
		})
	}
}

// TestWhatFailsWhereOthersDoNotIsNoOutage: at the end only items are left that fail
// each time. They are not taken for an outage, which would last for ever.
func TestWhatFailsWhereOthersDoNotIsNoOutage(t *testing.T) {
	for _, batch := range []int{1, 10} {
		w := newWorld(t, weir.Step{BatchSize: batch, Resource: weir.Resource{Rate: 500}}, 5000)
		w.answer = func(t *Task, r *Result) {
			for _, item := range t.Items {
				if item%100 == 99 {
					r.Failure = &Failure{Code: "http_500"}
				}
			}
		}
		w.run(5 * time.Minute)
		want := int64(0)
		for i := range int64(5000) {
			if i%block.Size%100 == 99 {
				want++
			}
		}
		w.ended("A", 3*time.Minute, want)
	}
}

// bucket takes some items at once and as many a second as it says, and refuses
// a call that has more items than are left.
type bucket struct {
	burst, rate float64
	left        float64
	at          time.Duration
}

func (b *bucket) take(at time.Duration, n int) bool {
	b.left = min(b.burst, b.left+b.rate*(at-b.at).Seconds())
	b.at = at
	if float64(n) > b.left {
		return false
	}
	b.left -= float64(n)
	return true
}

// TestABatchThatIsTooLargeForItsDownstreamGetsThrough: it takes 20 items at once, and a
// batch of 100 was refused for ever.
func TestABatchThatIsTooLargeForItsDownstreamGetsThrough(t *testing.T) {
	for _, tt := range []struct {
		name  string
		f     Failure
		items int64
		other bool // another bulk action gets through all the time
	}{
		{"one batch", Failure{Code: "refused", Refused: true}, 100, false},
		{"many batches", Failure{Code: "refused", Refused: true}, 1000, false},
		{"with a time", Failure{Code: "refused", Refused: true, After: 2 * time.Second}, 200, false},
		{"by a limit of the tenant", Failure{Code: "refused", Refused: true, OfTenant: true}, 200, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, weir.Step{BatchSize: 100}, tt.items)
			limit := &bucket{burst: 20, rate: 100}
			w.answer = func(t *Task, r *Result) {
				if t.Tenant == "t" && !limit.take(w.since(), len(t.Items)) {
					r.Failure = &tt.f
				}
			}
			if tt.other {
				w.message(envelope{Created: &Created{ID: "B", Tenant: "u", Chain: "c", Steps: []string{"a"}, Items: 400_000, Submitted: w.now}})
			}
			w.run(2 * time.Minute)
			if s := w.counts("A"); w.m.bulks["A"] != nil || s.Done != tt.items || s.Steps[0].Attempts != tt.items {
				t.Errorf("after %v: %d of %d done, %d attempts", w.since(), s.Done, tt.items, s.Steps[0].Attempts)
			}
		})
	}
}

// TestTasksAreFullAgainAfterEverythingWasRefused: that a downstream took nothing for a
// while says nothing of the size of its tasks. Only while the rate finds its way back are
// they smaller.
func TestTasksAreFullAgainAfterEverythingWasRefused(t *testing.T) {
	w := newWorld(t, weir.Step{BatchSize: 100}, 200_000)
	w.answer = func(t *Task, r *Result) {
		if w.since() < time.Minute {
			r.Failure = tooBusy
		}
	}
	w.run(10 * time.Minute)
	w.ended("A", 4*time.Minute, 0)
	if n := len(w.calls); n > 2600 {
		t.Errorf("%d calls, want 2,000 and some more while the rate grows again", n)
	}
}

// notYet asks for another attempt at all items of the first ones.
func notYet(t *Task, r *Result) {
	for i := range r.Outcomes {
		if t.Attempt == 1 && t.Bulk == "A" {
			r.Outcomes[i] = weir.Outcome{Kind: weir.OutcomeRetry}
		}
	}
}

// TestRetriesAloneHaveTheWholeRate: a thousand first attempts and as many retries take
// twice as long as the first attempts, also beside work that may not run.
func TestRetriesAloneHaveTheWholeRate(t *testing.T) {
	for _, paused := range []bool{false, true} {
		w := newWorld(t, weir.Step{BatchSize: 10, Resource: weir.Resource{Rate: 100}}, 1000)
		w.answer, w.takes = notYet, 10*time.Millisecond
		if paused {
			w.add("B", 1000)
			w.message(envelope{Command: &Command{ID: "B", Verb: Pause}})
		}
		for w.m.bulks["A"] != nil && w.since() < time.Minute {
			w.run(w.since() + time.Second)
		}
		if w.m.bulks["A"] != nil || w.since() > 23*time.Second {
			t.Errorf("after %v: %d of 1,000 done, want all in 22 s (another one is paused: %v)", w.since(), w.counts("A").Done, paused)
		}
	}
}

// TestRetriesLeaveFourFifthsToFirstAttempts: of their own bulk action, and of another.
func TestRetriesLeaveFourFifthsToFirstAttempts(t *testing.T) {
	w := newWorld(t, weir.Step{BatchSize: 10, Resource: weir.Resource{Rate: 100}}, 1500)
	w.answer, w.takes = notYet, 10*time.Millisecond
	w.run(10 * time.Second)
	w.add("B", 20_000)
	w.run(60 * time.Second)
	var first, again [2]int // while A has first attempts, and when only B has
	for _, c := range w.calls {
		i := 0
		if c.at > 40*time.Second {
			i = 1
		}
		if c.attempt == 1 {
			first[i] += c.items
		} else {
			again[i] += c.items
		}
	}
	for i := range first {
		if share := float64(again[i]) / float64(first[i]+again[i]); share < 0.15 || share > 0.21 {
			t.Errorf("retries have %.3f of the rate beside first attempts, want a fifth: %v and %v", share, again, first)
		}
	}
}
