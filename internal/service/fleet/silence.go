package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
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
	mu  sync.Mutex
	ctx context.Context
	end context.CancelCauseFunc
}

// Answering returns a context that ends when the store stops answering, with the cause ErrSilent. While the store
// does not answer it has ended.
func (s *Fleet) Answering() context.Context { return s.silence.now() }

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

// listen looks whether the store answers, until ctx ends. A read that fails is an answer: only requests that
// would wait are spared.
func (s *Fleet) listen(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
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
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
