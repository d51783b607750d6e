package recall

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

const (
	// rememberFor is how far a store may be set back without a loss.
	rememberFor = 10 * time.Second
	// rememberBytes bounds what a node remembers of its commits, and again of its submits.
	rememberBytes = 64 << 20
)

// Past is what this process remembers of what the store has acknowledged lately.
// It outlives the owning of a partition. A store that cannot be set back while it
// is in use, because it is no [store.Witness], needs none of it.
type Past struct {
	Submits
	parts       [stored.MaxPartitions]partPast
	bytes       atomic.Int64 // of all commits that are kept
	regressions atomic.Int64
}

// New makes the past of a process on a store. A call to the store may take leaseFor.
func New(s stored.Source, leaseFor time.Duration, log *slog.Logger) *Past {
	w, _ := s.(store.Witness)
	return &Past{Submits: Submits{store: s, witness: w, leaseFor: leaseFor, log: log, stop: make(chan struct{})}}
}

// Witness returns the store if it can be set back while it is in use, else nil.
func (p *Past) Witness() store.Witness { return p.witness }

// partPast is the past of one partition.
type partPast struct {
	writing sync.Mutex // held while a commit is tried, and while lost ones are put back
	mu      sync.Mutex // for newest
	newest  newest
}

// with changes what is kept of a partition, and keeps count of the bytes of all.
func (p *Past) with(no int, change func(*newest)) {
	of := &p.parts[no]
	of.mu.Lock()
	defer of.mu.Unlock()
	before := of.newest.bytes
	change(&of.newest)
	p.bytes.Add(of.newest.bytes - before)
}

// remember keeps a commit that is about to be tried.
func (p *Past) remember(now time.Time, no int, b *store.Batch, by store.Token) {
	p.with(no, func(w *newest) { w.add(now, b, by) })
}

// confirm tells that a commit was acknowledged. Only then, and by age, something is forgotten:
// while the store does not answer nothing becomes old. What is too much goes first
// where it is old, and then from the same partition: the busiest gives way.
func (p *Past) confirm(now time.Time, no int, number uint64) {
	old := now.Add(-rememberFor)
	p.with(no, func(w *newest) {
		w.ack(number)
		w.trim(old, rememberBytes)
	})
	if p.bytes.Load() <= rememberBytes {
		return
	}
	for i := range p.parts {
		p.with(i, func(w *newest) { w.trim(old, rememberBytes) })
	}
	if over := p.bytes.Load() - rememberBytes; over > 0 {
		p.with(no, func(w *newest) { w.trim(old, w.bytes-over) })
	}
}

// age forgets what is old of a partition whose commits the store was seen to have.
// Submits and claims are remembered no longer, either: commits alone would put a bulk
// action back without its items, and as if no idempotency key were lost.
func (p *Past) age(no int, now time.Time) {
	p.with(no, func(w *newest) { w.trim(now.Add(-rememberFor), rememberBytes) })
}

// acked is the newest commit of a partition that is known to have been acknowledged.
func (p *Past) acked(no int) (number uint64) {
	p.with(no, func(w *newest) { number = w.acked })
	return number
}

// Left tells that a partition was handed over: from now on others may commit.
func (p *Past) Left(no int) { p.with(no, func(w *newest) { w.mine = false }) }

// Forget drops what is remembered of a partition: what the store has of it counts from now on.
func (p *Past) Forget(no int) {
	p.with(no, func(w *newest) {
		w.cut(0)
		*w = newest{}
	})
}

// Mine reports whether this node was the last to own a partition, as far as it knows, and up to which commit.
func (p *Past) Mine(no int) (acked uint64, mine bool) {
	p.with(no, func(w *newest) { acked, mine = w.acked, w.mine })
	return acked, mine
}

// Regressions counts how often the store was found to hold less than it had acknowledged.
func (p *Past) Regressions() int64 { return p.regressions.Load() }
