package recall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/loss"
	"github.com/weirhq/weir/store"
)

// Owner is the owner of a partition, which alone may write to it.
type Owner interface {
	Partition() int
	Token() store.Token
	// Extend renews the lease, and does not wait for ever for the store's answer.
	Extend(ctx context.Context) error
}

// Commit asks the store once to write a batch. A store that lacks earlier commits, because it
// was set back, gets them again first.
func (p *Past) Commit(ctx context.Context, o Owner, b *store.Batch) error {
	no := o.Partition()
	if p.witness == nil {
		return p.store.Commit(ctx, no, o.Token(), b)
	}
	of := &p.parts[no]
	of.writing.Lock()
	defer of.writing.Unlock()
	now := time.Now()
	p.remember(now, no, b, o.Token())
	err := p.store.Commit(ctx, no, o.Token(), b)
	if behind(err) {
		_, err = p.mend(ctx, o) // b is among what is put back
	}
	if partition.AfterCommit(err) == partition.Written {
		p.confirm(now, no, b.Number)
	}
	return err
}

// Repair puts back what the store has lost of this process' commits to a partition, which has just been acquired and is
// not loaded yet. settle gets the outcome, a *[weir.LossError] if something cannot be put back, and decides whether the
// partition goes on.
func (p *Past) Repair(ctx context.Context, o Owner, settle func(ctx context.Context, err error) error) error {
	if p.witness == nil {
		return nil
	}
	of := &p.parts[o.Partition()]
	of.writing.Lock()
	defer of.writing.Unlock()
	ctx, cancel := outlast(ctx, p.leaseFor) // half of it would be whole for the next owner
	defer cancel()
	last, err := p.mend(ctx, o)
	if err = settle(ctx, err); err != nil {
		return err
	}
	p.with(o.Partition(), func(w *newest) { w.open(last) })
	return nil
}

// outlast is a context that ends some time after ctx does.
func outlast(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		defer cancel()
		select {
		case <-time.After(by):
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}

// Look begins a look at a partition, before the store is asked: what is acknowledged later may not be in the answer yet.
// The function that it returns takes the last commit from the answer, and reports whether the store still has what it
// acknowledged.
func (p *Past) Look(no int) func(store.Last) bool {
	if p.witness == nil {
		return func(store.Last) bool { return true }
	}
	acked := p.acked(no)
	return func(last store.Last) bool {
		if last.Number < acked {
			return false
		}
		p.age(no, time.Now())
		return true
	}
}

// PutBack puts back what the store has lost of a partition that is running.
func (p *Past) PutBack(ctx context.Context, o Owner) error {
	of := &p.parts[o.Partition()]
	of.writing.Lock()
	defer of.writing.Unlock()
	_, err := p.mend(ctx, o)
	return err
}

// mend puts back what the store lacks, with the partition's token, and returns
// the last commit that is there now. The caller holds the lock for writing.
func (p *Past) mend(ctx context.Context, o Owner) (store.Last, error) {
	no := o.Partition()
	last, err := p.store.Last(ctx, no)
	if err != nil {
		return last, err
	}
	var missing []keptCommit
	var acked uint64
	whole := true
	p.with(no, func(w *newest) {
		missing, whole = w.missing(last)
		missing, acked = slices.Clone(missing), w.acked // what is kept may be trimmed meanwhile
	})
	if !whole {
		p.regressions.Add(1)
		return last, loss.Error(no, last.Number, acked)
	}
	if len(missing) == 0 {
		return last, nil
	}
	p.regressions.Add(1)
	p.log.LogAttrs(ctx, slog.LevelWarn, "the store was set back, putting back what it lost",
		slog.Int("partition", no), slog.Uint64("have", last.Number), slog.Uint64("acked", acked), slog.Int("commits", len(missing)))
	return p.replay(ctx, o, missing)
}

// replay commits what the store has lost, and keeps the lease meanwhile. A failure in between leaves what is there:
// the next try goes on from it.
func (p *Past) replay(ctx context.Context, o Owner, missing []keptCommit) (last store.Last, err error) {
	no, token := o.Partition(), o.Token()
	renewed := time.Now()
	for _, k := range missing {
		if asked := time.Now(); asked.Sub(renewed) > p.leaseFor/3 && o.Extend(ctx) == nil {
			renewed = asked
		}
		number := k.batch.Number
		p.with(no, func(w *newest) { w.restore(number, token) }) // before the try: it may be written although no answer comes
		err := p.store.Commit(ctx, no, token, k.batch)
		if partition.AfterCommit(err) != partition.Written {
			return last, fmt.Errorf("put back commit %d of partition %d: %w", number, no, err)
		}
		p.with(no, func(w *newest) { w.ack(number) })
		last = store.Last{Number: number, By: token}
	}
	return last, nil
}

// behind reports whether a commit was refused because the store lacks earlier ones.
func behind(err error) bool {
	var order *store.NumberError
	return errors.As(err, &order) && order.Want < order.Got
}

// Whole checks that what was not found in a partition is truly not there: a
// store that was set back lacks it until its owner has put it back.
func (p *Past) Whole(ctx context.Context, no int) error {
	if p.witness == nil {
		return nil
	}
	acked := p.acked(no)
	last, err := p.store.Last(ctx, no)
	if err == nil && last.Number < acked {
		err = fmt.Errorf("partition %d: the store was set back to commit %d of %d", no, last.Number, acked)
	}
	return err
}
