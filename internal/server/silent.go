package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/service/fleet"
)

// silentAgain is when a request may come again that was refused because the store does not answer.
const silentAgain = 2 * time.Second

// whileAnswering returns a context that also ends when the store stops answering: nobody waits for what will not come.
// What the request has sent to the store by then may take effect, and the answer says so. After keep it goes on:
// an answer that has begun is not cut off.
func (s *Server) whileAnswering(ctx context.Context) (_ context.Context, keep func()) {
	waits, keep := s.svc.Fleet.Await(ctx)
	context.AfterFunc(ctx, keep) // the request has ended
	return waits, keep
}

// silenced adds to the error of a request that it ended because the store does not answer.
func silenced(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), fleet.ErrSilent) {
		return fmt.Errorf("%w: %w", fleet.ErrSilent, err)
	}
	return err
}
