// Package inprocess holds what nodes announce and what they share of limits, for backends that one
// process uses alone. All of it ends with the process.
package inprocess

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/store"
)

// Config is what [Nodes] need of their backend.
type Config struct {
	// Enter begins a call, which Leave ends, or returns why it must not continue.
	Enter func(context.Context) error
	Leave func()
	// Now is the clock, in nanoseconds since any moment.
	Now func() int64
	// Forgotten is until when an earlier process may have used a limit.
	Forgotten func(store.Limit) int64
}

// Nodes implements the part of [store.Registry] that expires, and [store.Quotas]. It is for embedding.
type Nodes struct {
	cfg    Config
	mu     sync.Mutex
	topics Announcements
	tables quota.Tables
}

// New returns nodes that have announced nothing.
func New(c Config) *Nodes { return &Nodes{cfg: c, tables: quota.Tables{}} }

// announced is a record with its expiry.
type announced struct {
	value []byte
	until int64
}

// Announcements are all that is announced at a moment.
type Announcements map[string]map[string]announced

func (a Announcements) clone() Announcements {
	c := Announcements{}
	for topic, of := range a {
		c[topic] = maps.Clone(of)
	}
	return c
}

// Save returns what is announced now, for Restore.
func Save(n *Nodes) Announcements {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.topics.clone()
}

// Restore sets what is announced back to an earlier moment.
func Restore(n *Nodes, a Announcements) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.topics = a.clone()
}

// do calls f under the lock.
func (n *Nodes) do(ctx context.Context, f func(now int64)) error {
	if err := n.cfg.Enter(ctx); err != nil {
		return err
	}
	defer n.cfg.Leave()
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.cfg.Now())
	return nil
}

// Announce keeps a copy of the record for ttl.
func (n *Nodes) Announce(ctx context.Context, topic string, rec store.Record, ttl time.Duration) error {
	return n.do(ctx, func(now int64) {
		switch {
		case ttl <= 0:
			delete(n.topics[topic], rec.Name)
			return
		case n.topics == nil:
			n.topics = Announcements{}
		}
		if n.topics[topic] == nil {
			n.topics[topic] = map[string]announced{}
		}
		n.topics[topic][rec.Name] = announced{bytes.Clone(rec.Value), now + int64(ttl)}
	})
}

// Announced lists copies of the records of a topic, and drops expired ones.
func (n *Nodes) Announced(ctx context.Context, topic string) (records []store.Record, err error) {
	err = n.do(ctx, func(now int64) {
		of := n.topics[topic]
		maps.DeleteFunc(of, func(_ string, a announced) bool { return now >= a.until })
		records = make([]store.Record, 0, len(of))
		for _, name := range slices.Sorted(maps.Keys(of)) {
			records = append(records, store.Record{Name: name, Value: bytes.Clone(of[name].value)})
		}
	})
	return records, err
}

// lookup reads a lasting record; see [store.Registry].
type lookup = func(ctx context.Context, name string) ([]byte, error)

// CheckIn implements that of [store.Registry], call by call.
func CheckIn(ctx context.Context, n *Nodes, topic string, r store.Record, ttl time.Duration, names []string,
	read lookup) (a store.Attendance, err error) {
	if err = n.Announce(ctx, topic, r, ttl); err != nil {
		return a, err
	}
	if a.Records, err = n.Announced(ctx, topic); err != nil {
		return a, err
	}
	err = n.do(ctx, func(now int64) { a.Expires = n.topics.expires(topic, r.Name, now) })
	a.Values = make([][]byte, len(names))
	for i, name := range names {
		if err == nil {
			a.Values[i], err = read(ctx, name)
		}
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
	}
	return a, err
}

// expires returns how long it takes until the first record of a topic expires that has another name; 0 if there is none.
func (a Announcements) expires(topic, name string, now int64) (first time.Duration) {
	for other, rec := range a[topic] { // the least of all: order does not reach it
		if left := time.Duration(rec.until - now); other != name && left > 0 && (first == 0 || left < first) {
			first = left
		}
	}
	return first
}

// table calls use with the table of a limit, under the lock.
func (n *Nodes) table(ctx context.Context, l store.Limit, use func(t *quota.Table, now int64)) error {
	return n.do(ctx, func(now int64) {
		use(n.tables.Of(l, n.cfg.Forgotten(l)), now)
	})
}

// Hold records a node's report and returns its quota.
func (n *Nodes) Hold(ctx context.Context, l store.Limit, h store.Holding, ttl time.Duration) (got int64, err error) {
	err = n.table(ctx, l, func(t *quota.Table, now int64) { got = t.Hold(now, h, ttl) })
	return got, err
}

// Draw takes units that no node holds.
func (n *Nodes) Draw(ctx context.Context, l store.Limit, units int64) (after time.Duration, ok bool, err error) {
	err = n.table(ctx, l, func(t *quota.Table, now int64) { after, ok = t.Draw(now, units) })
	return after, ok, err
}

// Holdings returns the last reports of the nodes.
func (n *Nodes) Holdings(ctx context.Context, l store.Limit) (list []store.Holding, err error) {
	err = n.table(ctx, l, func(t *quota.Table, now int64) { list = t.Holdings(now) })
	return list, err
}

// SetTargets sets the quotas that nodes should get.
func (n *Nodes) SetTargets(ctx context.Context, l store.Limit, epoch uint64, targets map[string]int64) error {
	var stale error
	err := n.table(ctx, l, func(t *quota.Table, _ int64) { stale = t.SetTargets(epoch, targets) })
	if err != nil {
		return err
	}
	return stale
}
