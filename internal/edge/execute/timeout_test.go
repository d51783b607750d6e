package execute

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestATimeoutSaysHowLongTheCallWaited(t *testing.T) {
	for after, want := range map[time.Duration]string{30 * time.Second: "timeout: no answer within 30s", 0: "timeout: no answer in time"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(context.DeadlineExceeded)
		err := (&caller{timeout: after}).callFailed(ctx, errors.New("connection closed"))
		if err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call with a timeout of %v failed with %q, want %q", after, err, want)
		}
	}
}
