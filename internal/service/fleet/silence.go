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

// ErrSilent is the cause with which the context of [Fleet.Await] ends: the store has not answered for SilentAfter.
var ErrSilent = fmt.Errorf("%w: it has not answered for %v", store.ErrUnavailable, SilentAfter)

// silence knows whether the store answers, and who waits for it. Without anybody nothing is asked of the store.
type silence struct {
	mu      sync.Mutex
	silent  bool
	waiting map[*context.CancelCauseFunc]struct{}
}

// Silent reports whether the store does not answer.
func (s *Fleet) Silent() bool {
	s.silence.mu.Lock()
	defer s.silence.mu.Unlock()
	return s.silence.silent
}

// Await returns a context that also ends when the store stops answering, with the cause ErrSilent, until done is called.
func (s *Fleet) Await(ctx context.Context) (_ context.Context, done func()) {
	ctx, end := context.WithCancelCause(ctx)
	s.silence.mu.Lock()
	defer s.silence.mu.Unlock()
	if s.silence.silent {
		end(ErrSilent)
		return ctx, func() {}
	}
	if s.silence.waiting == nil {
		s.silence.waiting = map[*context.CancelCauseFunc]struct{}{}
	}
	s.silence.waiting[&end] = struct{}{}
	return ctx, func() {
		s.silence.mu.Lock()
		defer s.silence.mu.Unlock()
		delete(s.silence.waiting, &end)
	}
}

// watched reports whether it matters whether the store answers.
func (s *silence) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent || len(s.waiting) > 0
}

// set notes whether the store answers, and reports whether that is news.
func (s *silence) set(answers bool) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news = s.silent == answers
	if s.silent = !answers; s.silent {
		for end := range s.waiting {
			(*end)(ErrSilent)
		}
		clear(s.waiting)
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
		if s.silence.watched() {
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
