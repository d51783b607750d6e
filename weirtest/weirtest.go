// Package weirtest helps users of weir to test their actions and chains.
//
// [Run] takes items through an action or a chain on a real engine with an in-memory store and
// returns the result of each. Inside a testing/synctest bubble time is fake, so
// that retries with minutes of backoff take no time. [CheckHTTPAction] checks an
// HTTP batch endpoint in any language.
package weirtest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store/memstore"
)

// Results holds the results of one run.
type Results struct {
	t     testing.TB
	items []Item
}

// Item is the result of one item.
type Item struct {
	ID       string
	State    report.State // done, failed or cancelled
	Step     string       // where it ended
	Code     string       // failed: the error's code; cancelled: the reason
	Message  string
	Attempts int
	Output   json.RawMessage // of the last step that answered
}

// Run takes items through an action or a chain and returns when the last one has
// ended. It fails the test if the engine refuses the work or the items.
func Run[In any](t testing.TB, w weir.Work[In], items ...weir.Item[In]) *Results {
	t.Helper()
	res, err := run(t.Context(), w, items)
	if err != nil {
		t.Fatalf("weirtest: %v", err)
	}
	res.t = t
	return res
}

func run[In any](ctx context.Context, w weir.Work[In], items []weir.Item[In]) (*Results, error) {
	e, err := engine.Open(ctx, memstore.New(memstore.Options{}), engine.Options{
		Partitions: 1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	if err := e.Handle(w); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	b, err := engine.Submit(ctx, e, w, engine.Items(items), weir.Spec{Duplicates: weir.KeepAll})
	if err != nil {
		return nil, err
	}
	r, err := b.Wait(ctx)
	if err != nil {
		return nil, err
	}
	res := &Results{}
	for row, err := range r.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		it := Item{row.ID, row.State, row.Step, row.Code, row.Message, row.Attempts, row.Output}
		if row.Reason != "" {
			it.Code = row.Reason
		}
		res.items = append(res.items, it)
	}
	return res, nil
}

// Items returns every item in the order of the input.
func (r *Results) Items() []Item { return r.items }

// Item returns the first item with the id. It fails the test without one.
func (r *Results) Item(id string) Item {
	r.t.Helper()
	for _, it := range r.items {
		if it.ID == id {
			return it
		}
	}
	r.t.Fatalf("weirtest: no item %q", id)
	return Item{}
}

// Want is an expectation: so many items in a state, with a code if it has one.
type Want struct {
	State report.State
	Code  string
	Count int
}

// Done expects n items that passed every step.
func Done(n int) Want { return Want{report.StateDone, "", n} }

// Failed expects n items that failed with a code.
func Failed(code string, n int) Want { return Want{report.StateFailed, code, n} }

// LeftOut expects n items that an action left out for a reason.
func LeftOut(reason string, n int) Want { return Want{report.StateCancelled, reason, n} }

// Want fails the test unless the items ended exactly as expected, all of them.
func (r *Results) Want(want ...Want) {
	r.t.Helper()
	if diff := r.diff(want); diff != "" {
		r.t.Errorf("weirtest: items did not end as expected:\n%s", diff)
	}
}

func (r *Results) diff(want []Want) string {
	type kind struct {
		state report.State
		code  string
	}
	got, expected := map[kind]int{}, map[kind]int{}
	var order []kind
	note := func(m map[kind]int, k kind, n int) {
		if got[k] == 0 && expected[k] == 0 {
			order = append(order, k)
		}
		m[k] += n
	}
	for _, w := range want {
		note(expected, kind{w.State, w.Code}, w.Count)
	}
	for _, it := range r.items {
		code := it.Code
		if it.State == report.StateDone {
			code = ""
		}
		note(got, kind{it.State, code}, 1)
	}
	var b strings.Builder
	for _, k := range order {
		if got[k] != expected[k] {
			fmt.Fprintf(&b, "  %s %s: got %d, want %d\n", k.state, k.code, got[k], expected[k])
		}
	}
	return b.String()
}
