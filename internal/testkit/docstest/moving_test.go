package docstest_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/testkit/docstest"
	"github.com/weirhq/weir/weirtest"
)

// begin

type User struct {
	Campaign string `json:"campaign"`
}

var award = weir.Action[User, string]{
	Name: "award", BatchSize: 100,
	Resource: weir.Resource{Name: "rewards", Rate: weir.PerSecond(300), Concurrency: 8},
	Retry:    weir.Backoff{MaxAttempts: 5},
	Handle: func(ctx context.Context, b *weir.Batch[User, string]) error {
		for i, it := range b.Items() {
			receipt, err := give(ctx, it.Value.Campaign+":"+it.ID) // the key of the effect: done before, same receipt
			switch {
			case errors.Is(err, errClosed):
				b.Fail(i, "closed", err)
			case err != nil:
				b.Retry(i, err, 0)
			default:
				b.Done(i, receipt)
			}
		}
		return nil
	},
}

// end

var errClosed = errors.New("account is closed")

func give(_ context.Context, key string) (string, error) {
	if key == "spring-2026:u2" {
		return "", errClosed
	}
	return "receipt of " + key, nil
}

func TestTheActionOfThePageOnMovingRuns(t *testing.T) {
	source, err := os.ReadFile("moving_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "// begin\n")
	code, _, _ = strings.Cut(code, "// end\n")
	docstest.Section(t, "docs/moving.md", "action", "```go\n"+strings.TrimSpace(code)+"\n```")

	spring := User{Campaign: "spring-2026"}
	weirtest.Run(t, award, weir.Item[User]{ID: "u1", Value: spring}, weir.Item[User]{ID: "u2", Value: spring}).
		Want(weirtest.Done(1), weirtest.Failed("closed", 1))
}
