package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/store"
)

const (
	// lookEvery is the interval between two looks at whether the store answers.
	lookEvery = 500 * time.Millisecond
	// SilentAfter is how long the store may take to answer one read. After that it counts as silent.
	SilentAfter = 2 * time.Second
)

// ErrSilent is the cause with which [Fleet.Answering] ends: the store has not answered for SilentAfter.
var ErrSilent = fmt.Errorf("%w: it has not answered for %v", store.ErrUnavailable, SilentAfter)

// silence knows whether the store answers.
type silence struct {
	waiting atomic.Int64 // who would wait for it; without them nothing is asked of the store
	mu      sync.Mutex
	ctx     context.Context
	end     context.CancelCauseFunc
}

// Answering returns a context that ends when the store stops answering, with the cause ErrSilent. While the store
// does not answer it has ended.
func (s *Fleet) Answering() context.Context { return s.silence.now() }

// Await has the store watched until done is called, which may be more than once.
func (s *Fleet) Await() (done func()) {
	s.silence.waiting.Add(1)
	return sync.OnceFunc(func() { s.silence.waiting.Add(-1) })
}

func (s *silence) now() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		s.ctx, s.end = context.WithCancelCause(context.Background())
	}
	return s.ctx
}

// set notes whether the store answers, and reports whether that is news.
func (s *silence) set(answers bool) (news bool) {
	was := s.now().Err() == nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if news = was != answers; news && answers {
		s.ctx, s.end = context.WithCancelCause(context.Background())
	} else if news {
		s.end(ErrSilent)
	}
	return news
}

// listen looks whether the store answers while somebody waits for it, until ctx ends.
func (s *Fleet) listen(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.silence.waiting.Load() > 0 || s.silence.now().Err() != nil {
			s.look(ctx)
		}
	}
}

// look reads from the store once. A read that fails is an answer: only requests that would wait are spared.
func (s *Fleet) look(ctx context.Context) {
	brief, cancel := context.WithTimeout(ctx, SilentAfter)
	_, err := s.engine.Operator().Partitions(brief)
	answers := brief.Err() == nil
	cancel()
	if ctx.Err() != nil {
		return
	}
	switch news := s.silence.set(answers); {
	case news && !answers:
		s.log.LogAttrs(ctx, slog.LevelError, "the store does not answer: requests are refused", slog.Any("error", err))
	case news:
		s.log.LogAttrs(ctx, slog.LevelInfo, "the store answers again")
	}
}
