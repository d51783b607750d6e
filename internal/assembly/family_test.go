package assembly_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// ledger records what was done to each item, and undone, in order.
type ledger struct {
	mu    sync.Mutex
	fails func(step string, n int) bool
	hold  chan struct{} // nil: nothing waits
	lines map[string][]string
}

func (l *ledger) step(name string) weir.Step {
	type doc struct{ N int }
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: name, BatchSize: 50, Retry: weir.Backoff{MaxAttempts: 1},
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			l.mu.Lock()
			hold := l.hold
			l.mu.Unlock()
			if hold != nil {
				<-hold
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			for i, it := range b.Items() {
				var d doc
				_ = json.Unmarshal(it.Value, &d)
				if l.fails != nil && l.fails(name, d.N) {
					b.Fail(i, "broken", fmt.Errorf("%s is broken", name))
					continue
				}
				l.lines[it.ID] = append(l.lines[it.ID], "+"+name)
				b.Done(i, json.RawMessage(fmt.Sprintf(`{"by":%q}`, name)))
			}
			return nil
		},
		Undo: func(_ context.Context, b *weir.Batch[weir.Undone[json.RawMessage, json.RawMessage], struct{}]) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			for i, it := range b.Items() {
				if want := fmt.Sprintf(`{"by":%q}`, name); string(it.Value.Output) != want {
					l.lines[it.ID] = append(l.lines[it.ID], "answer "+string(it.Value.Output))
				}
				l.lines[it.ID] = append(l.lines[it.ID], "-"+name)
				b.Done(i, struct{}{})
			}
			return nil
		},
	})
}

func (l *ledger) set(fails func(step string, n int) bool, hold chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails, l.hold = fails, hold
}

// campaignOf runs items through three steps; every fifth fails at the second, every seventh of the others at the third.
func campaignOf(t *testing.T, l *ledger, items int) (*nodetest.Node, api.BulkAction) {
	l.lines = map[string][]string{}
	l.fails = func(step string, n int) bool { return step == "two" && n%5 == 0 || step == "three" && n%7 == 0 }
	n := nodetest.Start(t, nodetest.Options{Partitions: 16, Steps: []weir.Step{l.step("one"), l.step("two"), l.step("three")}})
	var rows strings.Builder
	for i := range items {
		fmt.Fprintf(&rows, `{"id":"u%d","n":%d}`+"\n", i, i)
	}
	b := n.Make(`{"steps":[{"action":"one"},{"action":"two","input":{"n":"item.n"}},{"action":"three","input":{"n":"item.n"}}]}`, rows.String())
	return n, n.Until(b.ID, api.Completed)
}

func retry(n *nodetest.Node, id, body string) (made []string) {
	var l api.Linked
	n.Call("POST", "/v1/bulk-actions/"+id+"/retry", body, 201, &l)
	for _, b := range l.BulkActions {
		made = append(made, b.ID)
	}
	return made
}

// wantTakenBack fails the test unless everything was taken back, in the reverse order of its doing.
func (l *ledger) wantTakenBack(t *testing.T, items int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range items {
		lines := l.lines[fmt.Sprint("u", i)]
		var want []string
		for _, line := range slices.Backward(lines) {
			if name, ok := strings.CutPrefix(line, "+"); ok {
				want = append(want, "-"+name)
			}
		}
		if got := lines[len(lines)-len(want):]; len(lines) != 2*len(want) || !slices.Equal(got, want) {
			t.Fatalf("u%d: %v, want everything taken back, the newest first", i, lines)
		}
	}
}

func TestAnUndoCoversAllRetriesTheNewestStepFirst(t *testing.T) {
	const items = 2600 // more than two blocks
	var l ledger
	n, b := campaignOf(t, &l, items)
	// The first retries get on a little: some fail again, at the same step or a later one.
	l.set(func(step string, n int) bool { return step == "two" && n%15 == 0 || step == "three" && n%4 == 0 }, nil)
	var again []string
	for _, id := range slices.Concat(retry(n, b.ID, `{"step":"two","filter":"item.n < 1500"}`), retry(n, b.ID, `{"new_keys":true}`)) {
		n.Until(id, api.Completed)
		again = append(again, id)
	}
	l.set(nil, nil)
	for _, id := range again[:2] { // and of those again some
		for _, last := range retry(n, id, `{"filter":"item.n % 2 == 0"}`) {
			n.Until(last, api.Completed)
		}
	}
	var linked api.Linked
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 201, &linked)
	u := n.Until(linked.BulkActions[0].ID, api.Completed)
	if linked.Items != items || u.Counts.Done != items {
		t.Errorf("%d items are undone, %+v; want %d", linked.Items, u.Counts, items)
	}
	l.wantTakenBack(t, items)

	var p api.Problem
	for _, id := range []string{b.ID, again[0]} { // nothing of it is done again
		n.Call("POST", "/v1/bulk-actions/"+id+"/retry", `{}`, 409, &p)
		if p.Code != "wrong_state" || !strings.Contains(p.Detail, "is undone by "+u.ID) {
			t.Errorf("retry of what is undone: %+v", p)
		}
	}
	var groups api.DLQGroups
	if n.Call("GET", "/v1/dlq/groups", "", 200, &groups); len(groups.Data) != 0 {
		t.Errorf("failed items of what was undone are left: %+v", groups.Data)
	}
}

func TestAnUndoWaitsForRetries(t *testing.T) {
	var l ledger
	n, b := campaignOf(t, &l, 70)
	hold := make(chan struct{})
	l.set(nil, hold)
	made := retry(n, b.ID, `{}`)
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 409, &p)
	if p.Code != "wrong_state" || !strings.Contains(p.Detail, "a retry of "+b.ID+", is running") {
		t.Errorf("undo while a retry runs: %+v", p)
	}
	n.Call("POST", "/v1/bulk-actions/"+made[0]+"/undo", `{}`, 409, &p)
	if p.Code != "wrong_state" || !strings.Contains(p.Fix, "undo "+b.ID) {
		t.Errorf("undo of a retry: %+v", p)
	}
	l.set(nil, nil)
	close(hold)
	for _, id := range made {
		n.Until(id, api.Completed)
	}
	var linked api.Linked
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/undo", `{}`, 201, &linked)
	n.Until(linked.BulkActions[0].ID, api.Completed)
	l.wantTakenBack(t, 70)
}

func TestOfAnUndoAndARetryAtTheSameTimeOneIsRefused(t *testing.T) {
	for range 5 {
		var l ledger
		n, b := campaignOf(t, &l, 70)
		l.set(nil, nil)
		var all sync.WaitGroup
		var again, undone api.Linked
		var retried, undo error
		newID, err := n.Service().Drafts.NewID(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() { again, retried = n.Service().Results.Retry(t.Context(), b.ID, api.Again{}, "k") })
		all.Go(func() { undone, undo = n.Service().Results.Undo(t.Context(), b.ID, newID) })
		all.Wait()
		for _, x := range slices.Concat(again.BulkActions, undone.BulkActions) {
			n.Until(x.ID, api.Completed)
		}
		if retried != nil && undo != nil {
			t.Logf("both were refused: %v; %v", retried, undo) // each saw the other begin
		}
		if undo == nil {
			l.wantTakenBack(t, 70)
			continue
		}
		if undone, undo = n.Service().Results.Undo(t.Context(), b.ID, newID); undo != nil {
			t.Fatal(undo)
		}
		n.Until(undone.BulkActions[0].ID, api.Completed)
		l.wantTakenBack(t, 70)
	}
}
