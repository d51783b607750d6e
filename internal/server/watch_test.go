package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// event is one event of a stream.
type event struct{ id, kind, data string }

// follow opens a stream; the channel ends with it.
func follow(t *testing.T, n *nodetest.Node, id, last string) (<-chan event, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	h := http.Header{}
	if last != "" {
		h.Set("Last-Event-ID", last)
	}
	resp := n.Request(ctx, "GET", "/v1/bulk-actions/"+id+"/events", "", h)
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("events: status %d, type %q", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	out := make(chan event)
	go func() {
		defer close(out)
		defer resp.Body.Close()
		var e event
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.kind = value
			case "data":
				e.data = value
			case "":
				select {
				case out <- e:
				case <-ctx.Done():
					return
				}
				e = event{}
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		for range out { // until the reader has ended
		}
	})
	return out, cancel
}

// next waits for an event of a kind; false: the stream has ended.
func next(t *testing.T, from <-chan event, kind string) (event, bool) {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case e, ok := <-from:
			if !ok || e.kind == kind {
				return e, ok
			}
		case <-late:
			t.Fatalf("no event %s came", kind)
		}
	}
}

func progressOf(t *testing.T, e event) (p api.Progress) {
	t.Helper()
	if err := json.Unmarshal([]byte(e.data), &p); err != nil {
		t.Fatalf("%v: %s", err, e.data)
	}
	addsUp(t, p.Counts)
	return p
}

// addsUp checks that states sum to the total.
func addsUp(t *testing.T, c api.Counts) {
	t.Helper()
	if sum := c.Ready + c.Waiting + c.InFlight + c.Done + c.Failed + c.Cancelled; sum != c.Total || min(c.Ready, c.Waiting, c.InFlight, c.Done, c.Failed, c.Cancelled) < 0 {
		t.Fatalf("counts do not add up: %+v", c)
	}
}

func rows(n int, row func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(row(i) + "\n")
	}
	return b.String()
}

// An EventSource opens the stream again after its end, with the id of the last event, until it is answered 204.
func TestAReaderThatHasHadTheEndIsAnswered204(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	gate.open()
	b := n.Make(`{"steps":[{"action":"award"}]}`, rows(3, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) }))
	n.Until(b.ID, api.Completed)
	from, _ := follow(t, n, b.ID, "")
	end, ok := next(t, from, "end")
	if !ok || end.id == "" || !strings.Contains(end.data, `"completed"`) {
		t.Fatalf("the last event is %+v, want end, with an id and the final state", end)
	}
	resp := n.Request(t.Context(), "GET", "/v1/bulk-actions/"+b.ID+"/events", "", http.Header{"Last-Event-ID": {end.id}})
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Errorf("opened again after the end: status %d, want 204", resp.StatusCode)
	}
}

// Only the end of this bulk action is answered 204, and only once it has come.
func TestAnEndThatHasNotComeIsNotAnswered204(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	b := n.Make(`{"steps":[{"action":"award"}]}`, `{"id":"u1"}`+"\n")
	for _, last := range []string{"x.end", "3.1.0.00000000.end", b.ID + ".end"} {
		from, _ := follow(t, n, b.ID, last)
		if _, ok := next(t, from, "progress"); !ok {
			t.Errorf("after %q nothing was told of a bulk action that runs", last)
		}
	}
	gate.open()
	n.Until(b.ID, api.Completed)
	from, _ := follow(t, n, b.ID, "x.end")
	if _, ok := next(t, from, "end"); !ok {
		t.Error("the end was not told to a reader with the id of another stream")
	}
}

func TestAStreamOfEventsFollowsABulkActionToItsEnd(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	b := n.Make(`{"steps":[{"action":"award"}]}`, rows(300, func(i int) string { return fmt.Sprintf(`{"id":"u%d","bad":%v}`, i, i%3 == 0) }))
	from, _ := follow(t, n, b.ID, "")
	first, _ := next(t, from, "state")
	if !strings.Contains(first.data, `"running"`) || first.id != "" {
		t.Errorf("first state = %+v, want running, without an id", first)
	}
	if p := progressOf(t, must(next(t, from, "progress"))(t)); p.Counts.Total != 300 {
		t.Errorf("progress %+v, want 300 items", p)
	}
	gate.open()
	group, _ := next(t, from, "error_group")
	if !strings.Contains(group.data, `"is_bad"`) {
		t.Errorf("error group %s, want is_bad", group.data)
	}
	var last api.Progress
	var ids []string
	for e, ok := next(t, from, "progress"); ok; e, ok = next(t, from, "progress") {
		last = progressOf(t, e)
		ids = append(ids, e.id)
	}
	if last.State != api.Completed || last.Counts.Done != 200 || last.Counts.Failed != 100 || len(last.WaitingOn) != 0 {
		t.Errorf("last progress %+v, want 200 done and 100 failed", last)
	}
	if slices.Contains(ids, "") || len(slices.Compact(ids)) != len(ids) {
		t.Errorf("ids %q, want another for each progress", ids)
	}
}

func must[T any](v T, ok bool) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if !ok {
			t.Fatal("the stream ended")
		}
		return v
	}
}

func TestAStreamGoesOnWhereItWasAndTellsNothingTwice(t *testing.T) {
	gate := newGate()
	ten := gate.step("award")
	ten.BatchSize = 10
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{ten}})
	b := n.Make(`{"concurrency":1,"steps":[{"action":"award"}]}`, rows(50, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) }))
	gate.reached()
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/pause", `{"reason":"wait"}`, 200, nil)
	gate.open() // what is in flight ends; no more starts
	var still api.Progress
	n.Eventually("nothing moves", func() bool {
		var p api.Progress
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/progress", "", 200, &p)
		same := p.Counts == still.Counts && p.Counts.Done > 0
		still = p
		return same && p.State == api.Paused
	})
	from, cut := follow(t, n, b.ID, "")
	seen := must(next(t, from, "progress"))(t)
	for p := progressOf(t, seen); p.Counts.InFlight > 0; p = progressOf(t, seen) {
		seen = must(next(t, from, "progress"))(t)
	}
	cut()
	again, _ := follow(t, n, b.ID, seen.id)
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/resume", `{}`, 200, nil)
	e, _ := next(t, again, "state")
	if !strings.Contains(e.data, `"running"`) && !strings.Contains(e.data, `"completed"`) {
		t.Errorf("the first state after resuming the stream is %s: what was known was told again", e.data)
	}
	var last api.Progress
	for e, ok := next(t, again, "progress"); ok; e, ok = next(t, again, "progress") {
		last = progressOf(t, e)
	}
	if last.State != api.Completed || last.Counts.Done != 50 {
		t.Errorf("last progress %+v, want 50 done", last)
	}
}

func TestAStreamOfADraftTellsWhenItIsStarted(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}]}`, 201, &b)
	from, _ := follow(t, n, b.ID, "")
	if p := progressOf(t, must(next(t, from, "progress"))(t)); p.State != api.Draft || len(p.WaitingOn) != 1 {
		t.Errorf("progress of a draft %+v, want that it waits to be filled", p)
	}
	n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", `{"id":"u1"}`, http.Header{"Content-Type": {"application/x-ndjson"}}, 202, nil)
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/seal", `{"start":true}`, 200, nil)
	var last api.Progress
	for e, ok := next(t, from, "progress"); ok; e, ok = next(t, from, "progress") {
		last = progressOf(t, e)
	}
	if last.State != api.Completed || last.Counts.Done != 1 {
		t.Errorf("last progress %+v, want it completed", last)
	}
}

func TestStreamsEndWhenTheServerDrains(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	defer gate.open()
	b := n.Make(`{"steps":[{"action":"award"}]}`, `{"id":"u1"}`)
	from, _ := follow(t, n, b.ID, "")
	next(t, from, "progress")
	n.Server().Drain()
	if e, ok := next(t, from, "nothing"); ok {
		t.Errorf("event %+v after the drain", e)
	}
}

func TestProgressSaysWhatHoldsABulkActionUp(t *testing.T) {
	gate := newGate()
	gate.open()
	slow := gate.step("award")
	slow.Resource = weir.Resource{Name: "rewards", Rate: 5}
	slow.BatchSize = 1
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{slow}})
	b := n.Make(`{"steps":[{"id":"give","action":"award"}]}`, rows(500, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) }))
	want := api.Cause{Reason: "rate", Text: "Rate of rewards, 5/s", Resource: "rewards", Step: "give"}
	n.Eventually("it waits on the rate of rewards", func() bool {
		var p api.Progress
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/progress", "", 200, &p)
		addsUp(t, p.Counts)
		return slices.Contains(p.WaitingOn, want)
	})
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/pause", `{}`, 200, nil)
	n.Eventually("it waits for a resume", func() bool {
		var p api.Progress
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/progress", "", 200, &p)
		return slices.Contains(p.WaitingOn, api.Cause{Reason: "paused", Text: "You: it is paused"})
	})
}

func TestProgressNamesTheLimitOfTheBulkActionItself(t *testing.T) {
	gate := newGate()
	gate.open()
	step := gate.step("award")
	step.Resource, step.BatchSize = weir.Resource{Name: "rewards", Rate: 500}, 1
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{step}})
	b := n.Make(`{"steps":[{"id":"give","action":"award"}],"rates":{"give":"5/s"}}`, rows(500, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) }))
	n.Eventually("it waits on its own rate", func() bool {
		var p api.Progress
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/progress", "", 200, &p)
		return slices.ContainsFunc(p.WaitingOn, func(c api.Cause) bool { return c.Text == "Its own rate of give, 5/s" })
	})
}
