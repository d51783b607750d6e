package own

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/store"
)

// Tenure is this node's time as the owner of one partition: the lease, and what follows from having it.
type Tenure struct {
	of       *Member
	no       int
	token    store.Token
	restored int64                     // of the map by which this node took the partition
	leaseEnd atomic.Pointer[time.Time] // until when the lease is certainly ours

	Pending atomic.Int64 // items that have not ended
}

// Partition returns the number of the partition.
func (t *Tenure) Partition() int { return t.no }

// Token returns what proves the ownership to the store.
func (t *Tenure) Token() store.Token { return t.token }

// Acquire waits for the lease: its holder may be about to hand it over, or may
// have died with it. From then on the other nodes are told that this one is loading the partition.
func (t *Tenure) Acquire(ctx context.Context) error {
	m := t.of
	for {
		news, asked := m.fleet.News.Rung(), time.Now()
		tok, err := t.lease(ctx)
		switch {
		case err == nil:
			t.token = tok
			t.believe(asked)
			if err := t.check(ctx); err != nil {
				return err
			}
			m.taking[t.no].Store(true)
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case Permanent(err):
			return fmt.Errorf("acquire partition %d: %w", t.no, err)
		case !errors.Is(err, store.ErrHeld):
			m.Log.LogAttrs(ctx, slog.LevelWarn, "partition not taken, will ask again", slog.Int("partition", t.no), slog.Any("error", err))
			news = nil
		}
		Pause(ctx, announceEvery, news)
	}
}

// lease asks for the lease. A node that was the last to own the partition remembers what the store may have lost.
func (t *Tenure) lease(ctx context.Context) (store.Token, error) {
	m := t.of
	if w := m.Past.Witness(); w != nil {
		if _, mine := m.Past.Mine(t.no); mine {
			return w.Reclaim(ctx, t.no, m.Node, m.LeaseFor)
		}
	}
	return m.Store.Acquire(ctx, t.no, m.Node, m.LeaseFor)
}

// Permanent reports whether asking a store again would not help.
func Permanent(err error) bool {
	return errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFenced)
}

// errInDoubt ends an ownership that began before the node had reason to doubt what it knew of the others.
var errInDoubt = errors.New("the store may have lost the map of partitions: an owner that remembers this one goes first")

// check looks whether the store was emptied between the decision to take the partition and the lease: the
// lease was free then because the store had forgotten it.
func (t *Tenure) check(ctx context.Context) error {
	m := t.of
	if _, mine := m.Past.Mine(t.no); mine || m.Past.Witness() == nil {
		return nil
	}
	_, now, err := m.layout.Read(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errInDoubt, err)
	case now == nil || now.Restored != t.restored:
		return errInDoubt
	}
	return nil
}

// Serve tells that the partition is loaded and runs.
func (t *Tenure) Serve() {
	m := t.of
	m.running[t.no].Store(t)
	m.taking[t.no].Store(false)
	m.health.runs(t.no)
}

// Leave tells that the partition runs here no more, and with which error it ended.
func (t *Tenure) Leave(err error) {
	t.of.running[t.no].Store(nil)
	if !errors.Is(err, store.ErrFenced) { // handed over: from now on others may commit
		t.of.Past.Left(t.no)
	}
}

// HandOver gives the lease back, if it was got, and says so: the next owner need not wait.
func (t *Tenure) HandOver(ctx context.Context) {
	m := t.of
	if t.token == (store.Token{}) {
		return
	}
	m.taking[t.no].Store(false)
	ctx, cancel := context.WithTimeout(ctx, m.LeaseFor)
	defer cancel()
	if m.Store.Release(ctx, t.no, t.token) == nil { // else it runs out by itself
		m.Log.LogAttrs(ctx, slog.LevelInfo, "partition handed over", slog.Int("partition", t.no))
		m.fleet.Tell(ctx, "released", t.no)
	}
}

// believe takes note of a lease that was granted or extended after asked.
func (t *Tenure) believe(asked time.Time) {
	end := asked.Add(t.of.LeaseFor - t.of.LeaseFor/20) // clocks may run at different speeds
	t.leaseEnd.Store(&end)
}

// Sure reports whether the lease has certainly not run out.
func (t *Tenure) Sure(now time.Time) bool { return CertainlyBefore(now, *t.leaseEnd.Load()) }

// CertainlyBefore compares times by both clocks: a machine that was put to sleep
// may stop one of them.
func CertainlyBefore(now, end time.Time) bool {
	return now.Before(end) && now.UnixNano() < end.UnixNano()
}

// Keep renews the lease at a third of its time, and sooner if that failed: other nodes wait for it. It calls renewed
// when the lease is certain again after a doubt, and behind when the store turns out to lack what it has acknowledged:
// a partition in which nothing happens would not notice otherwise. It returns an error if another node has the lease.
func (t *Tenure) Keep(ctx context.Context, renewed, behind func()) error {
	every := t.of.LeaseFor / 3
	for wait := untilNext(every); ; {
		Pause(ctx, wait, nil)
		if ctx.Err() != nil {
			return nil
		}
		wait = untilNext(every)
		doubted := !t.Sure(time.Now())
		look := t.of.Past.Look(t.no) // before the store is asked
		last, err := t.extend(ctx)
		switch {
		case err == nil:
			if doubted {
				renewed()
			}
			if !look(last) {
				behind()
			}
		case errors.Is(err, store.ErrFenced):
			return fmt.Errorf("partition %d: renew lease: %w", t.no, err)
		default:
			t.of.Log.LogAttrs(ctx, slog.LevelWarn, "lease not renewed", slog.Int("partition", t.no), slog.Any("error", err))
			wait = retryEvery
		}
	}
}

// untilNext returns the time to the next multiple of every: all tenures of a node renew their leases at the same
// moment, which a store can do at once.
func untilNext(every time.Duration) time.Duration {
	return every - time.Duration(time.Now().UnixNano())%every
}

// Extend renews the lease, and does not wait for ever for the store's answer.
func (t *Tenure) Extend(ctx context.Context) error {
	_, err := t.extend(ctx)
	return err
}

// extend renews the lease, and returns the last commit.
func (t *Tenure) extend(ctx context.Context) (store.Last, error) {
	ctx, cancel := context.WithTimeout(ctx, t.of.LeaseFor/3)
	defer cancel()
	asked := time.Now()
	last, err := t.of.Store.Renew(ctx, t.no, t.token, t.of.LeaseFor)
	if err == nil {
		t.believe(asked)
	}
	return last, err
}

// Shared reports whether other processes may use a store, too.
func Shared(s store.Store) bool {
	sharing, ok := s.(store.Sharing)
	return ok && sharing.Shared()
}
