package partition

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/flow"
)

// world is a bench with flow control and a downstream. Each call takes the same time.
type world struct {
	*bench
	begin  int64
	takes  time.Duration
	answer func(t *Task, r *Result) // r says that all is done
	steer  int64
	flying []callEnd // in the order of their ends
	calls  []callAt // all that were made
}

type callEnd struct {
	r    *Result
	ends int64
}

type callAt struct {
	at    time.Duration
	items int
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
			w.calls = append(w.calls, callAt{w.since(), len(t.Items)})
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
}

// counts is what became of a bulk action, as it is stored.
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
				r.Outcomes[i] = weir.Outcome{Kind: weir.Retry, Code: "not_yet"}
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
