package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

func TestARetryIsKeptAsLongAsWhatItWasMadeOf(t *testing.T) {
	a := weir.Action[json.RawMessage, json.RawMessage]{Name: "a", Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
		for i := range b.Items() {
			b.Fail(i, "no", errors.New("no"))
		}
		return nil
	}}
	r := start(t, memory(), engine.Options{}, action(a))
	b := submitAs(t, r, engine.Ticket{KeepFor: time.Hour}, spec(a), 3)
	wait(t, b)
	again, err := b.Retry(t.Context(), engine.RetryOptions{})
	must(t, err)
	wait(t, again[0])
	if got := again[0].Info().KeepFor; got != time.Hour {
		t.Errorf("the retry is kept for %v, want 1h", got)
	}
}
