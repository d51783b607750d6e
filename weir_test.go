package weir_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestAnUnknownValueHasItsNumberForAWord(t *testing.T) {
	for _, tt := range []struct {
		value fmt.Stringer
		want  string
	}{
		{weir.BulkAwaiting, "awaiting_approval"},
		{weir.BulkAwaiting + 1, "BulkState(9)"},
		{weir.BulkState(255), "BulkState(255)"},
		{weir.TierLow, "low"},
		{weir.TierLow + 1, "Tier(4)"},
		{weir.OutcomeRefused, "refused"},
		{weir.OutcomeRefused + 1, "OutcomeKind(6)"},
	} {
		if got := tt.value.String(); got != tt.want {
			t.Errorf("String of %T = %q, want %q", tt.value, got, tt.want)
		}
	}
	if s := weir.BulkState(17); s.Final() || s.CanMove(weir.BulkRunning) || weir.Tier(17).Rank() != weir.TierDefault.Rank() {
		t.Error("an unknown state is final or moves, or an unknown tier does not rank as the default")
	}
}

func TestBulkActionsMoveByTheTableAndFinalStatesHaveNoMoves(t *testing.T) {
	all := []weir.BulkState{weir.BulkRunning, weir.BulkPaused, weir.BulkStopped, weir.BulkCancelling, weir.BulkCompleted, weir.BulkCancelled}
	legal := map[weir.BulkState]string{
		weir.BulkRunning:    "paused stopped cancelling completed cancelled",
		weir.BulkPaused:     "running stopped cancelling completed cancelled",
		weir.BulkStopped:    "running cancelling completed cancelled",
		weir.BulkCancelling: "completed cancelled",
	}
	for _, from := range all {
		if final := legal[from] == ""; from.Final() != final {
			t.Errorf("%v is final: %v, want %v", from, from.Final(), final)
		}
		for _, to := range all {
			want := strings.Contains(" "+legal[from]+" ", " "+to.String()+" ")
			if got := from.CanMove(to); got != want {
				t.Errorf("%v to %v = %v, want %v", from, to, got, want)
			}
		}
	}
}

func TestRatesAreReadAndWrittenAsPeopleDo(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want weir.Rate
	}{
		{"500/s", 500},
		{" 500 / sec ", 500},
		{"0.5/second", 0.5},
		{"30/m", 0.5},
		{"30/min", 0.5},
		{"60/minute", 1},
		{"3600/h", 1},
		{"7200/hour", 2},
		{"1e3/s", 1000},
		{"1e9/s", 1e9},
	} {
		if got, err := weir.ParseRate(tt.in); err != nil || got != tt.want {
			t.Errorf("ParseRate(%q) = %v, %v; want %v", tt.in, got, err, tt.want)
		}
	}
	for _, bad := range []string{"", "x", "0", "300", "1e9", "-1/s", "NaN", "Inf", "1e10/s", "5/day", "5/", "/s", "5/s/s", "5 s"} {
		if got, err := weir.ParseRate(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("ParseRate(%q) = %v, %v; want an error that repeats it", bad, got, err)
		}
	}
	for r, want := range map[weir.Rate]string{0: "unlimited", weir.PerSecond(500): "500/s", weir.PerMinute(30): "0.5/s", weir.PerMinute(20): "20/m", weir.Rate(7.0 / 3600): "7/h"} {
		if got := r.String(); got != want {
			t.Errorf("rate is written %q, want %q", got, want)
		}
	}
}

func TestTiersAreReadByTheirWordsAndRanked(t *testing.T) {
	for rank, word := range []string{"critical", "high", "default", "low"} {
		tier, err := weir.ParseTier(word)
		if err != nil || tier.String() != word || tier.Rank() != rank {
			t.Errorf("ParseTier(%q) = %v with rank %d, %v; want rank %d", word, tier, tier.Rank(), err, rank)
		}
	}
	for _, bad := range []string{"", "urgent", "High"} {
		if _, err := weir.ParseTier(bad); err == nil || !strings.Contains(err.Error(), "critical") {
			t.Errorf("ParseTier(%q) = %v, want an error that lists the tiers", bad, err)
		}
	}
}

func TestBackoffHasDefaults(t *testing.T) {
	if got, want := (weir.Backoff{}).WithDefaults(), (weir.Backoff{MaxAttempts: 5, Base: time.Second, Cap: 5 * time.Minute}); got != want {
		t.Errorf("defaults = %+v, want %+v", got, want)
	}
	if got := (weir.Backoff{Base: time.Hour}).WithDefaults(); got.Cap != time.Hour {
		t.Errorf("cap with a base of an hour = %v, want at least the base", got.Cap)
	}
}

func TestErrorsSayWhatWhereAndWhatToDo(t *testing.T) {
	cause := errors.New("cause")
	var several weir.InputError
	if several.OrNil() != nil {
		t.Error("an InputError without faults is an error")
	}
	several.Add("a", "name", "is empty", "give it one")
	several.Add("b", "tier", "is odd", "")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{several.OrNil(), "name: is empty; give it one\ntier: is odd"},
		{&weir.BacklogError{Pending: 5, Limit: 4, RetryAfter: time.Second}, "backlog is full: 5 of at most 4 items are pending; try again in 1s"},
		{&weir.DuplicateError{ID: "x", Item: 7, First: 2}, `item 7: id "x" came before, as item 2; set Duplicates to KeepFirst or KeepAll to accept it`},
		{&weir.DuplicateError{ID: "x", Item: 7}, `item 7: id "x" came before; set Duplicates to KeepFirst or KeepAll to accept it`},
		{&weir.HandlerBug{Err: cause}, "handler bug: cause"},
		{&weir.RefusedError{After: time.Minute, Err: cause}, "refused, come back after 1m0s: cause"},
		{&weir.RefusedError{Err: cause}, "refused: cause"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("text = %q, want %q", got, tt.want)
		}
	}
	for _, err := range []error{&weir.HandlerBug{Err: cause}, &weir.RefusedError{Err: cause}} {
		if !errors.Is(err, cause) {
			t.Errorf("%T hides its cause", err)
		}
	}
	if _, ok := weir.AsRefused(cause); ok {
		t.Error("an ordinary error is taken for a refusal")
	}
}

// run runs a step over items and returns the task with its outcomes.
func run(t *testing.T, s weir.Step, docs ...string) (*weir.Task, error) {
	t.Helper()
	task := &weir.Task{Bulk: "ba_x", Tenant: "ann", StepNo: 1, Attempt: 2, Outcomes: make([]weir.Outcome, len(docs))}
	for i, d := range docs {
		task.Items = append(task.Items, weir.TaskItem{No: int64(100 + i), ID: string(rune('a' + i)), Data: []byte(d)})
	}
	return task, s.Handle(context.Background(), task)
}

func stepOf[In, Out any](h func(*weir.Batch[In, Out]) error) weir.Step {
	return weir.Start(weir.Action[In, Out]{Name: "x", Handle: func(_ context.Context, b *weir.Batch[In, Out]) error { return h(b) }}).Steps()[0]
}

func TestItemsThatCannotBeDecodedFailAndTheOthersKeepTheirPlaces(t *testing.T) {
	for _, tt := range []struct {
		name string
		docs []string
		want string // d: done, f: failed as bad_item
	}{
		{"none is bad", []string{"1", "2", "3"}, "ddd"},
		{"the first is bad", []string{`"x"`, "2", "3"}, "fdd"},
		{"one in the middle is bad", []string{"1", `"x"`, "3", "4"}, "dfdd"},
		{"the last is bad", []string{"1", "2", `"x"`}, "ddf"},
		{"every other is bad", []string{`{}`, "2", `[]`, "4", `"x"`}, "fdfdf"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			task, err := run(t, stepOf(func(b *weir.Batch[int, string]) error {
				for i, it := range b.Items() {
					if b.Item(i) != it {
						t.Errorf("Item(%d) = %v, want %v", i, b.Item(i), it)
					}
					b.Done(i, it.ID+" "+b.Key(i))
				}
				return nil
			}), tt.docs...)
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range task.Outcomes {
				id := task.Items[i].ID
				if tt.want[i] == 'd' {
					if want := `"` + id + " " + task.Key(i) + `"`; o.Kind != weir.OutcomeDone || string(o.Output) != want {
						t.Errorf("item %s: %+v, want done with %s", id, o, want)
					}
				} else if o.Kind != weir.OutcomeFailed || o.Code != "bad_item" || !strings.Contains(o.Message, "int") {
					t.Errorf("item %s: %+v, want failed as bad_item", id, o)
				}
			}
		})
	}
}

func TestABatchOfBadItemsAloneCallsNobody(t *testing.T) {
	_, err := run(t, stepOf(func(*weir.Batch[int, string]) error { t.Error("called"); return nil }), `"x"`, `{}`)
	if err != nil {
		t.Error(err)
	}
}

func TestEveryAnswerReachesItsItem(t *testing.T) {
	down := errors.New("down")
	task, err := run(t, stepOf(func(b *weir.Batch[int, struct{}]) error {
		if b.Len() != 5 || b.Attempt() != 2 || b.Bulk() != "ba_x" || b.Tenant() != "ann" {
			t.Errorf("batch of %d, attempt %d, of %s, %s", b.Len(), b.Attempt(), b.Bulk(), b.Tenant())
		}
		b.Heartbeat() // nobody listens, and that is fine
		b.Fail(0, "closed", down)
		b.Retry(1, down, time.Minute)
		b.LeaveOut(2, "holdout")
		b.Fail(3, "bare", nil)
		b.DoneRest()
		return nil
	}), "1", "2", "3", "4", "5")
	if err != nil {
		t.Fatal(err)
	}
	want := []weir.Outcome{
		{Kind: weir.OutcomeFailed, Code: "closed", Message: "down"},
		{Kind: weir.OutcomeRetry, Message: "down", After: time.Minute},
		{Kind: weir.OutcomeLeftOut, Code: "holdout"},
		{Kind: weir.OutcomeFailed, Code: "bare"},
		{Kind: weir.OutcomeDone},
	}
	for i, o := range task.Outcomes {
		if w := want[i]; o.Kind != w.Kind || o.Code != w.Code || o.Message != w.Message || o.After != w.After || o.Output != nil {
			t.Errorf("outcome %d = %+v, want %+v", i, o, w)
		}
	}
}

func TestABrokenHandlerIsToldApart(t *testing.T) {
	var bug *weir.HandlerBug
	_, err := run(t, stepOf(func(b *weir.Batch[int, string]) error { b.Done(0, ""); b.LeaveOut(0, "x"); return nil }), "1")
	if !errors.As(err, &bug) || !strings.Contains(err.Error(), `two answers for item "a": done, then left_out`) {
		t.Errorf("two answers: %v, want a handler bug that names both", err)
	}
	_, err = run(t, stepOf(func(b *weir.Batch[int, any]) error { b.Done(0, func() {}); return nil }), "1")
	if !errors.As(err, &bug) || !strings.Contains(err.Error(), "not valid JSON") {
		t.Errorf("an output that is not valid JSON: %v, want a handler bug", err)
	}
	down := errors.New("down")
	if _, err = run(t, stepOf(func(b *weir.Batch[int, string]) error { b.Done(0, ""); return down }), "1"); !errors.Is(err, down) {
		t.Errorf("error = %v, want the handler's own", err)
	}
}

func TestThenHandsOnTheAnswerAndLeavesTheFirstChainAsItWas(t *testing.T) {
	one := weir.Action[int, string]{Name: "one", Handle: func(context.Context, *weir.Batch[int, string]) error { return nil }}
	two := weir.Action[string, string]{Name: "two", Handle: func(_ context.Context, b *weir.Batch[string, string]) error {
		b.Done(0, b.Item(0).Value)
		return nil
	}}
	input := func(it weir.Item[int], prev string) string { return it.ID + prev }
	start := weir.Start(one)
	a, b := weir.Then(start, two, input), weir.Then(start, two, input).Named("other")
	if a.Name() != "one+two" || b.Name() != "other" || len(start.Steps()) != 1 || len(a.Steps()) != 2 {
		t.Errorf("chains %q, %q of %d and %d steps", a.Name(), b.Name(), len(start.Steps()), len(a.Steps()))
	}
	for previous, want := range map[string]string{`"-out"`: `"x-out"`, "": `"x"`} {
		task := &weir.Task{Items: []weir.TaskItem{{ID: "x", Data: []byte("5"), Previous: []byte(previous)}}, Outcomes: make([]weir.Outcome, 1)}
		if err := a.Steps()[1].Handle(context.Background(), task); err != nil || string(task.Outcomes[0].Output) != want {
			t.Errorf("after %q: %+v, %v; want %s", previous, task.Outcomes[0], err, want)
		}
	}
	task := &weir.Task{Items: []weir.TaskItem{{ID: "x", Data: []byte("5"), Previous: []byte("{")}}, Outcomes: make([]weir.Outcome, 1)}
	if err := a.Steps()[1].Handle(context.Background(), task); err != nil || task.Outcomes[0].Code != "bad_item" {
		t.Errorf("after a broken answer: %+v, %v; want bad_item", task.Outcomes[0], err)
	}
	raw, err := a.Steps()[1].Input(&weir.TaskItem{ID: "x", Data: []byte("5"), Previous: []byte(`"p"`)})
	if err != nil || string(raw) != `"xp"` {
		t.Errorf("input of an endpoint = %s, %v", raw, err)
	}
}

func TestStepsHaveDefaults(t *testing.T) {
	s := weir.RawStep(weir.HTTPAction[json.RawMessage, struct{}]{Name: "mail", URL: "http://localhost/x"}.Action())
	if s.BatchSize != 100 || s.Timeout != 30*time.Second || s.Resource.Name != "mail" || s.Retry.MaxAttempts != 5 || s.Handle != nil || s.Endpoint.URL != "http://localhost/x" {
		t.Errorf("step = %+v", s)
	}
}

func TestKeysTellItemsStepsAndBulkActionsApart(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range []weir.BulkID{"ba_a", "ba_b"} {
		for step := range 3 {
			for no := range int64(3) {
				seen[weir.ItemKey(id, step, no)] = true
			}
		}
	}
	if len(seen) != 18 {
		t.Errorf("18 different items and steps have %d keys", len(seen))
	}
}

func TestOutcomesTellFailedFromCancelled(t *testing.T) {
	for want, c := range map[string]weir.Counts{
		"all_done":       {Total: 2, Done: 2},
		"some_failed":    {Total: 3, Done: 1, Failed: 1, Cancelled: 1},
		"some_cancelled": {Total: 2, Done: 1, Cancelled: 1},
	} {
		if got := c.Outcome(); got != want {
			t.Errorf("%+v: outcome %s, want %s", c, got, want)
		}
	}
}
