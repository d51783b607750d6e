package partition

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// tried is a bulk action of four blocks of two items, the first of which is its canary.
func tried(auto bool) *Created {
	return &Created{
		ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: 8, Sizes: []uint16{2, 2, 2, 2},
		Canary: &Canary{Items: 2, Auto: auto, Success: 1}, Notify: true,
	}
}

// done gives the machine a good result of every task.
func (b *bench) done(tasks []*Task) {
	for _, t := range tasks {
		b.m.Result(b.now, &Result{Task: t, Outcomes: b.allDone(t)})
	}
}

func TestTheRestAfterACanaryWaitsForTheCommitThatSaysSo(t *testing.T) {
	for _, tt := range []struct {
		name string
		auto bool
	}{{"a person approves", false}, {"the rule holds", true}} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.chains["c"] = steps(1, 2)
			b.message(envelope{Created: tried(tt.auto)})
			canary := b.settle()
			if len(canary) != 1 {
				t.Fatalf("%d tasks start, want the canary's one", len(canary))
			}
			b.done(canary)
			b.message(envelope{Command: &Command{ID: "ba_x", Verb: Approve}}) // nothing to do where the rule has decided
			if do := b.advance(); len(do.Start) != 0 {
				t.Fatalf("%d tasks start before the decision is durable", len(do.Start))
			}
			b.reload() // which forgets the canary's result
			again := b.settle()
			if len(again) != 1 || again[0].Block != 0 {
				t.Fatalf("after a crash %d tasks start, want the canary's one", len(again))
			}
			b.done(again)
			rest := b.settle()
			b.message(envelope{Command: &Command{ID: "ba_x", Verb: Approve}})
			b.done(append(rest, b.settle()...))
			b.settle()
			_, status, err := ReadStatus(b.rows, "ba_x")
			if err != nil || status.State != weir.BulkCompleted {
				t.Errorf("it ends as %+v, %v", status, err)
			}
		})
	}
}

func TestACanaryIsApprovedByItsCallsAlone(t *testing.T) {
	done, failed := weir.Outcome{Kind: weir.OutcomeDone}, weir.Outcome{Kind: weir.OutcomeFailed, Code: "no"}
	skipped := weir.Outcome{Kind: weir.OutcomeDone, Uncalled: true}
	for _, tt := range []struct {
		name    string
		success float64
		canary  [2]weir.Outcome
		want    string // the beginning of the reason to wait; empty: the rest starts
	}{
		{"all called", 1, [2]weir.Outcome{done, done}, ""},
		{"one skipped", 1, [2]weir.Outcome{skipped, done}, ""},
		{"all skipped", 1, [2]weir.Outcome{skipped, skipped}, "canary: step a called nothing"},
		{"the only call failed", 0.5, [2]weir.Outcome{skipped, failed}, "canary: of 1 items that did not skip step a, 0 were done"},
		{"too many failed", 1, [2]weir.Outcome{done, failed}, "canary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.chains["c"] = steps(1, 1)
			c := tried(true)
			c.Canary.Success = tt.success
			b.message(envelope{Created: c})
			for i := range tt.canary {
				b.m.Result(b.now, &Result{Task: b.settle()[0], Outcomes: tt.canary[i : i+1]})
				b.settle()
				b.reload()
			}
			rest := len(b.settle())
			_, s, err := ReadStatus(b.rows, "ba_x")
			if err != nil || (tt.want == "") != (rest > 0) || (s.State == weir.BulkAwaiting) != (tt.want != "") || !strings.HasPrefix(s.Reason, tt.want) {
				t.Errorf("after the canary it is %v, reason %q, and %d tasks start, %v; want the reason %q", s.State, s.Reason, rest, err, tt.want)
			}
		})
	}
}

func TestARepeatedApprovalStartsNothing(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 2)
	b.message(envelope{Created: tried(false)})
	b.done(b.settle())
	b.settle()
	rest := 0
	for range 2 {
		b.message(envelope{Command: &Command{ID: "ba_x", Verb: Approve}})
		rest += len(b.settle())
	}
	if rest != 3 {
		t.Errorf("%d tasks start after the approvals, want 3", rest)
	}
}

func TestACommitTellsOfOneStateAlone(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 2)
	c := tried(false)
	c.Canary, c.StopOn = nil, weir.StopRule{MaxFailures: -1}
	b.message(envelope{Created: c})
	tasks := b.settle()
	for _, task := range tasks[1:] {
		b.done([]*Task{task})
	}
	b.m.Result(b.now, &Result{Task: tasks[0], Outcomes: []weir.Outcome{{Kind: weir.OutcomeFailed, Code: "no"}, {Kind: weir.OutcomeDone}}})
	b.advance()
	b.commit() // the failure stops it, and was its last result
	events := b.advance().Events
	if len(events) != 1 || events[0].State != weir.BulkCompleted || events[0].Number != b.number {
		t.Fatalf("events %+v, want that it is completed", events)
	}
	if of := events[0].Of; of == nil || of.Tenant != "t" {
		t.Errorf("the event is of %+v, want the bulk action of tenant t", of)
	}
	events[0].Of = nil // it is not stored
	b.reload()
	if again := b.advance().Events; len(again) != 1 || again[0] != events[0] {
		t.Errorf("after a takeover %+v is told, want %+v", again, events)
	}
	b.m.Noted(b.now, events[0])
	forget := b.now + notedFor
	if do := b.advance(); do.Commit != nil || do.Wake != forget {
		t.Errorf("commit %+v, wake at %d; want none before %d for an event that is to be removed", do.Commit, do.Wake, forget)
	}
	b.now += notedFor
	b.settle()
	b.reload()
	if again := b.advance().Events; len(again) != 0 {
		t.Errorf("%+v is told after it was noted", again)
	}
}

func TestAHigherRateHoldsAtOnce(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 2)
	c := tried(false)
	c.Canary, c.Rates = nil, map[string]float64{"a": 0.001}
	b.message(envelope{Created: c})
	if got := b.settle(); len(got) != 1 {
		t.Fatalf("%d tasks start at a rate of one in a quarter of an hour", len(got))
	}
	b.message(envelope{Command: &Command{ID: "ba_x", Verb: Change, Rules: &weir.Rules{Rates: map[string]weir.Rate{"a": 10}}}})
	b.settle()
	b.now += 100e6
	if got := b.settle(); len(got) != 1 {
		t.Errorf("%d tasks start a tenth of a second after the rate became 10/s, want 1", len(got))
	}
}

func TestOfChangesToTheSameRulesOneIsMade(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 2)
	b.message(envelope{Created: tried(false)})
	of := uint64(0)
	for i, mark := range []string{"first", "second"} {
		priority := i + 1
		b.message(envelope{Command: &Command{ID: "ba_x", Verb: Change, Of: &of, Mark: mark, Rules: &weir.Rules{Priority: &priority}}})
	}
	b.settle()
	b.reload()
	b.settle()
	if spec, _, err := ReadStatus(b.rows, "ba_x"); err != nil || spec.Priority != 1 || spec.Rules != 1 || spec.RulesBy != "first" {
		t.Errorf("after two changes to the same rules: priority %d, changed %d times, last by %q, %v; want the first alone", spec.Priority, spec.Rules, spec.RulesBy, err)
	}
}

func TestAnOwnRateHoldsOverATakeover(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 2)
	c := tried(false)
	c.Canary, c.Rates = nil, map[string]float64{"a": 10}
	b.message(envelope{Created: c})
	if do := b.advance(); len(do.Start) != 0 {
		t.Fatalf("%d tasks start before it is stored, want none: the next owner would not know of them", len(do.Start))
	}
	b.commit()
	if got := b.settle(); len(got) != 1 {
		t.Fatalf("%d tasks start then, want 1", len(got))
	}
	b.reload()
	if got := b.settle(); len(got) != 0 {
		t.Errorf("%d tasks start with the next owner, want none before their time", len(got))
	}
	b.now += 980e6
	if got := b.settle(); len(got) != 0 {
		t.Errorf("%d tasks start within a second, want none: the last owner may have started ten items", len(got))
	}
	b.now += 100e6
	if got := b.settle(); len(got) == 0 {
		t.Error("no task starts a second later")
	}
}

func TestWhatAHeldBulkActionWaitedOnCountsFromItsStart(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 2)
	c := tried(false)
	c.Canary, c.Hold = nil, true
	b.message(envelope{Created: c})
	b.settle()
	b.now += 3600e9
	b.settle()
	b.message(envelope{Command: &Command{ID: "ba_x", Verb: Start}})
	b.settle()
	b.now += 1e9
	b.settle()
	if _, s, err := ReadStatus(b.rows, "ba_x"); err != nil || s.Waited["paused"]+s.Waited["sealed"] != 0 {
		t.Errorf("it waited on %v, %v; want nothing of the time before its start", s.Waited, err)
	}
}

func TestACommitWritesASpecOnce(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 2)
	b.message(envelope{Created: tried(false)})
	for _, tier := range []weir.Tier{weir.TierCritical, weir.TierLow} {
		b.message(envelope{Command: &Command{ID: "ba_x", Verb: Change, Rules: &weir.Rules{Tier: &tier}}})
	}
	b.advance()
	specs := 0
	for _, r := range b.flying.Set {
		if bytes.Equal(r.Key, specKey("ba_x")) {
			specs++
		}
	}
	b.commit()
	spec, err := ReadSpec(b.rows, "ba_x")
	if err != nil || specs != 1 || spec.Rules != 2 || spec.Tier != weir.TierLow {
		t.Errorf("%d rows, of which the last says change %d to tier %v, %v; want one with both changes", specs, spec.Rules, spec.Tier, err)
	}
}
