package weirtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/weirtest"
)

// In a synctest bubble the hour that the action asks for passes at once.
func ExampleRun() {
	award := weir.Action[string, string]{Name: "award", Handle: func(_ context.Context, b *weir.Batch[string, string]) error {
		for i, it := range b.Items() {
			switch {
			case it.Value == "closed":
				b.Fail(i, "closed", errors.New("account is closed"))
			case it.Value == "busy" && b.Attempt() == 1:
				b.Retry(i, errors.New("busy"), time.Hour)
			default:
				b.Done(i, "receipt of "+it.ID)
			}
		}
		return nil
	}}
	_ = func(t *testing.T) { // in a test of yours: func TestAward(t *testing.T)
		synctest.Test(t, func(t *testing.T) {
			weirtest.Run(t, award,
				weir.Item[string]{ID: "1", Value: "open"},
				weir.Item[string]{ID: "2", Value: "closed"},
				weir.Item[string]{ID: "3", Value: "busy"},
			).Want(weirtest.Done(2), weirtest.Failed("closed", 1))
		})
	}
}
