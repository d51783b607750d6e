package readback

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store"
)

// blockState is where the items of a block are, and the partition whose rows say so.
type blockState struct {
	no        uint32
	state     *block.State
	partition int
}

// places are the partitions that have rows of the bulk action, the home first.
func (b *Bulk) places() []int {
	if b.Spec.Shared() {
		return b.Spec.Shards
	}
	return []int{b.Home}
}

// eachBlock calls do with the state of every block, touched or not, in order, until do fails.
func (r *Report) eachBlock(ctx context.Context, do func(blockState) error) error {
	next := uint32(0)
	untouched := func(until uint32) error {
		for ; next < until; next++ {
			if err := do(blockState{next, r.fresh(next), r.bulk.Home}); err != nil {
				return err
			}
		}
		return nil
	}
	for at, err := range r.touched(ctx) {
		if err == nil {
			err = untouched(at.no)
		}
		if err == nil {
			next = at.no + 1
			err = do(at)
		}
		if err != nil {
			return err
		}
	}
	return untouched(r.bulk.Spec.Blocks())
}

// fresh is the state of a block that was never touched.
func (r *Report) fresh(no uint32) *block.State {
	spec := r.bulk.Spec
	s := &block.State{Size: spec.BlockSize(no), Passed: make([]block.Set, len(spec.Steps))}
	for i := range spec.FirstStep {
		s.Passed[i].Fill(s.Size)
	}
	return s
}

// touched yields the blocks that have rows, in order. An error is the last.
func (r *Report) touched(ctx context.Context) iter.Seq2[blockState, error] {
	places := r.bulk.places()
	if len(places) == 1 {
		return r.touchedIn(ctx, places[0])
	}
	return func(yield func(blockState, error) bool) { r.merge(ctx, places, yield) }
}

// touchedIn is touched in one partition.
func (r *Report) touchedIn(ctx context.Context, p int) iter.Seq2[blockState, error] {
	return func(yield func(blockState, error) bool) {
		err := partition.ReadBlocks(stored.At(ctx, r.bulk.from.store, p), r.bulk.Spec, func(no uint32, s *block.State) error {
			if !yield(blockState{no, s, p}, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(blockState{}, err)
		}
	}
}

// stream is the blocks of one partition on their way into a merge.
type stream struct {
	next func() (blockState, error, bool)
	head blockState
}

// merge yields the blocks of several partitions in order. Each block is in one of them.
func (r *Report) merge(ctx context.Context, places []int, yield func(blockState, error) bool) {
	var streams []*stream
	pull := func(l *stream) (more bool, err error) {
		l.head, err, more = l.next()
		return more && err == nil, err
	}
	for _, p := range places {
		next, stop := iter.Pull2(r.touchedIn(ctx, p))
		defer stop()
		l := &stream{next: next}
		more, err := pull(l)
		if err != nil {
			yield(blockState{}, err)
			return
		}
		if more {
			streams = append(streams, l)
		}
	}
	for len(streams) > 0 {
		first := 0
		for i, l := range streams {
			if l.head.no < streams[first].head.no {
				first = i
			}
		}
		if !yield(streams[first].head, nil) {
			return
		}
		more, err := pull(streams[first])
		if err != nil {
			yield(blockState{}, err)
			return
		}
		if !more {
			streams = append(streams[:first], streams[first+1:]...)
		}
	}
}

// gather adds what only the rows of the partitions tell that worked on it: how
// long tasks took, and what was waited on, on an average of the partitions.
func (r *Report) gather(ctx context.Context) error {
	b := r.bulk
	latency := make([]*hdrhistogram.Histogram, len(b.Spec.Steps))
	waits, workers := map[string]int64{}, int64(0)
	for _, p := range b.places() {
		from := stored.At(ctx, b.from.store, p)
		_, status, err := partition.ReadStatus(from, b.id)
		if errors.Is(err, store.ErrNotFound) {
			continue // it was never given anything
		}
		if err != nil {
			return err
		}
		workers++
		for reason, d := range status.Waited {
			waits[reason] += d
		}
		for i := range latency {
			h, err := partition.ReadLatency(from, b.id, i)
			if err != nil {
				return err
			}
			if latency[i] == nil {
				latency[i] = h
			} else if h != nil {
				latency[i].Merge(h)
			}
		}
	}
	for reason := range waits {
		waits[reason] /= workers
	}
	r.Waited = waited(waits)
	for i, h := range latency {
		if h != nil {
			r.Steps[i].Latency = quantiles(h)
		}
	}
	return nil
}

func quantiles(h *hdrhistogram.Histogram) report.Latency {
	at := func(q float64) report.Duration {
		return report.Duration(h.ValueAtQuantile(q)) * report.Duration(time.Microsecond)
	}
	return report.Latency{P50: at(50), P95: at(95), P99: at(99), Max: at(100)}
}
