package weirtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
)

type user struct{ Name string }

type receipt struct{ ID string }

var errBusy = errors.New("busy")

// award fails closed accounts, is busy at first for some, and leaves one out.
func award() weir.Action[user, receipt] {
	return weir.Action[user, receipt]{
		Name: "award", BatchSize: 2,
		Handle: func(_ context.Context, b *weir.Batch[user, receipt]) error {
			for i, it := range b.Items() {
				switch {
				case it.Value.Name == "closed":
					b.Fail(i, "closed", errors.New("account is closed"))
				case it.Value.Name == "busy" && b.Attempt() < 4:
					b.Retry(i, errBusy, time.Hour)
				case it.Value.Name == "holdout":
					b.LeaveOut(i, "holdout")
				default:
					b.Done(i, receipt{"r-" + it.ID})
				}
			}
			return nil
		},
	}
}

func items() []weir.Item[user] {
	return []weir.Item[user]{{ID: "1", Value: user{"ann"}}, {ID: "2", Value: user{"closed"}}, {ID: "3", Value: user{"busy"}}, {ID: "4", Value: user{"holdout"}}}
}

func TestHoursOfBackoffTakeNoTimeInABubble(t *testing.T) {
	real := time.Now()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := Run(t, award(), items()...)
		r.Want(Done(2), Failed("closed", 1), LeftOut("holdout", 1))
		if got := r.Item("3"); got.Attempts != 4 || string(got.Output) != `{"ID":"r-3"}` {
			t.Errorf("busy item = %+v, want 4 attempts and its receipt", got)
		}
		if took := time.Since(start); took < 3*time.Hour {
			t.Errorf("three retries after an hour each took %v of fake time", took)
		}
	})
	if took := time.Since(real); took > time.Minute {
		t.Errorf("took %v of real time", took)
	}
}

func TestASecondStepGetsTheFirstOnesOutput(t *testing.T) {
	message := weir.Action[string, string]{Name: "message", Handle: func(_ context.Context, b *weir.Batch[string, string]) error {
		for i, it := range b.Items() {
			b.Done(i, "sent "+it.Value)
		}
		return nil
	}}
	chain := weir.Then(weir.Start(award()), message, func(it weir.Item[user], r receipt) string { return r.ID + " to " + it.Value.Name })
	r := Run(t, chain, items()[:2]...)
	r.Want(Done(1), Failed("closed", 1))
	if got := string(r.Item("1").Output); got != `"sent r-1 to ann"` {
		t.Errorf("output = %s", got)
	}
	if got := r.Item("2").Step; got != "award" {
		t.Errorf("closed account ended at %q, want award", got)
	}
}

func TestWantNamesWhatDiffers(t *testing.T) {
	r := Run(t, award(), items()[:2]...)
	diff := r.diff([]Want{Done(2)})
	for _, part := range []string{"done : got 1, want 2", "failed closed: got 1, want 0"} {
		if !strings.Contains(diff, part) {
			t.Errorf("difference %q does not say %q", diff, part)
		}
	}
}
