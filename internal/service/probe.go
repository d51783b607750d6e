package service

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/store"
)

const (
	// probeEvery is how often the store is tried. Health tells what the last try found.
	probeEvery = 2 * time.Second
	probeFor   = 4 * time.Second
)

// probe is what the last try of the store found.
type probe struct{ problem atomic.Pointer[string] }

// StoreProblem says why new work is not accepted now, or not as it should be; empty: nothing is wrong.
func (s *Service) StoreProblem() string {
	if p := s.probed.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// keepProbing tries until ctx ends whether the store takes what a submit needs, one partition after the other.
func (s *Service) keepProbing(ctx context.Context) {
	p, ok := s.opts.Store.(store.Prober)
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

// probe tries the store once, and tells what has changed.
func (s *Service) probe(ctx context.Context, p store.Prober, n int) {
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
