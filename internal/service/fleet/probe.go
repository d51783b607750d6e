package fleet

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/store"
)

const (
	// probeEvery is the interval between probes of the store. Health reports the last result.
	probeEvery = 2 * time.Second
	probeFor   = 4 * time.Second
)

// probe holds the result of the last probe.
type probe struct{ problem atomic.Pointer[string] }

// StoreProblem returns why new work is not accepted now, or only in part; empty: all is well.
func (s *Fleet) StoreProblem() string {
	if p := s.probed.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// Run watches the store until ctx ends: whether it answers, and whether it accepts submits.
func (s *Fleet) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { s.listen(ctx) })
	all.Go(func() { s.probeAll(ctx) })
	all.Wait()
}

// probeAll probes whether the store accepts submits, one partition after the other, until ctx ends.
func (s *Fleet) probeAll(ctx context.Context) {
	p, ok := s.store.(store.Prober)
	if !ok {
		return
	}
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		s.probe(ctx, p, n)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// probe probes the store once, and logs a change.
func (s *Fleet) probe(ctx context.Context, p store.Prober, n int) {
	brief, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	partitions, err := s.engine.Operator().Partitions(brief)
	if err == nil {
		err = p.Probe(brief, n%max(partitions, 1))
	}
	if ctx.Err() != nil {
		return
	}
	now, was := store.Reason(err), s.StoreProblem()
	s.probed.problem.Store(&now)
	switch {
	case now != "" && was == "":
		s.log.LogAttrs(ctx, slog.LevelError, "new work is not accepted", slog.Any("error", err))
	case now == "" && was != "":
		s.log.LogAttrs(ctx, slog.LevelInfo, "new work is accepted again")
	}
}
