package partition

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weirhq/weir"
)

// due submits a bulk action with a deadline, on a resource that takes 100 items a second.
func (b *bench) due(id string, items, deadline int64) {
	b.chains["c"] = []weir.Step{{Name: "award", Action: "award", BatchSize: 10, Resource: weir.Resource{Name: "r", Rate: 100}}}
	c := &Created{ID: weir.BulkID(id), Tenant: "t", Chain: "c", Steps: []string{"award"}, Items: items, Submitted: b.now, Notify: true}
	if deadline > 0 {
		c.Deadline = b.now + deadline
	}
	b.message(envelope{Created: c})
}

// run plays for a time: calls take no time. It returns the events, and the last view of each bulk action.
func (b *bench) run(span int64) (events []Event, views map[weir.BulkID]weir.Progress) {
	views = map[weir.BulkID]weir.Progress{}
	for end := b.now + span; b.now < end; {
		do := b.advance()
		events = append(events, do.Events...)
		for _, v := range do.Views {
			views[v.ID] = v
		}
		for _, t := range do.Start {
			b.m.Result(b.now, &Result{Task: t, Outcomes: b.allDone(t), Service: 1})
		}
		if b.flying != nil {
			b.commit()
		}
		b.now = max(b.now, min(do.Wake, b.now+5e6))
	}
	return events, views
}

func late(events []Event) (n int) {
	for _, e := range events {
		if e.Late {
			n++
		}
	}
	return n
}

func TestADeadlineThatCannotBeMetIsToldOnce(t *testing.T) {
	const sec = int64(1e9)
	b := newBench(t)
	b.due("A", 10_000, 30*sec) // 3,000 could be done
	b.due("B", 1000, 30*sec)
	events, views := b.run(sec)
	if len(events) != 1 || events[0].ID != "A" || !events[0].Late || events[0].State != weir.BulkRunning {
		t.Fatalf("events after a second: %+v, want one: A will be late", events)
	}
	if !slices.Contains(views["A"].WaitingOn, "late") || slices.Contains(views["B"].WaitingOn, "late") {
		t.Errorf("A waits on %q, B on %q: A alone is late", views["A"].WaitingOn, views["B"].WaitingOn)
	}
	b.reload() // it was not noted
	again, _ := b.run(3 * sec)
	if len(again) != 1 || again[0] != events[0] {
		t.Fatalf("events after a takeover: %+v, want the same once more: %+v", again, events[0])
	}
	b.m.Noted(b.now, events[0])
	b.run(sec)
	b.reload()
	again, views = b.run(23 * sec)
	if late(again) != 0 {
		t.Errorf("told again after it was noted: %+v", again)
	}
	if !slices.Contains(views["A"].WaitingOn, "late") {
		t.Errorf("after a takeover A waits on %q, without late", views["A"].WaitingOn)
	}
	if p := views["B"]; p.State != weir.BulkCompleted || p.Counts.Done != 1000 {
		t.Errorf("B, which can be met, is %v with %+v", p.State, p.Counts)
	}
	again, views = b.run(3 * sec)
	if p := views["A"]; p.State != weir.BulkCompleted || p.Reason != "deadline" || p.Counts.Cancelled == 0 || late(again) != 0 {
		t.Errorf("A is %v (%s) after its deadline, with %+v and events %+v", p.State, p.Reason, p.Counts, again)
	}
}

func TestDeadlinesAreMetBesideAFlood(t *testing.T) {
	const sec = int64(1e9)
	b := newBench(t)
	b.due("flood", 1_000_000, 0)
	b.now += 600 * sec
	ids := []weir.BulkID{}
	for i := range int64(5) {
		ids = append(ids, weir.BulkID(fmt.Sprint("D", i)))
		b.due(string(ids[i]), 400, (25-i)*sec) // 2,000 of 2,500, and the last that comes is due first
	}
	events, views := b.run(26 * sec)
	if late(events) > 0 {
		t.Errorf("said to be late: %+v", events)
	}
	for _, id := range ids {
		if p := views[id]; p.State != weir.BulkCompleted || p.Counts.Done != 400 {
			t.Errorf("%s is %v with %+v", id, p.State, p.Counts)
		}
	}
}

func TestAPausedBulkActionIsNotSaidToBeLate(t *testing.T) {
	const sec = int64(1e9)
	b := newBench(t)
	b.due("A", 10_000, 200*sec)
	b.message(envelope{Command: &Command{ID: "A", Verb: Pause}})
	if events, _ := b.run(150 * sec); late(events) > 0 {
		t.Errorf("said to be late while it is paused: %+v", events)
	}
	b.message(envelope{Command: &Command{ID: "A", Verb: Resume}})
	if events, _ := b.run(sec); late(events) != 1 {
		t.Errorf("a second after it goes on, with 5,000 items in 50 s: %+v", events)
	}
}
