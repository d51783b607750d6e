// Package loss keeps what is known of acknowledged work that a store has lost for good.
//
// A loss is open until an operator accepts it or the store has everything again; a partition whose loss is open is not
// run. Nothing is ever taken back, so nodes that join what they know in any order come to the same list.
package loss

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// Loss is one loss as the map of partitions keeps it. Times are nanoseconds.
type Loss struct {
	Partition int    `json:"partition"`
	Have      uint64 `json:"have"`
	Acked     uint64 `json:"acked"`
	Found     int64  `json:"found"`
	Accepted  int64  `json:"accepted,omitempty"`
	Restored  int64  `json:"restored,omitempty"` // the store had everything again
}

// Open reports whether the partition is stopped for the loss.
func (l Loss) Open() bool { return l.Accepted == 0 && l.Restored == 0 }

func (l Loss) same(o Loss) bool { return l.Partition == o.Partition && l.Found == o.Found }

// Err returns the loss as an error.
func (l Loss) Err() *weir.LossError { return Error(l.Partition, l.Have, l.Acked) }

// Error returns an error for a partition that has commits up to have, of those acknowledged up to acked.
func Error(partition int, have, acked uint64) *weir.LossError {
	return &weir.LossError{Partition: partition, Have: have, Acked: acked, Err: store.ErrCorrupt}
}

// Public returns the loss as users see it.
func (l Loss) Public() weir.Loss {
	p := weir.Loss{Partition: l.Partition, Have: l.Have, Acked: l.Acked, Found: stored.Moment(l.Found)}
	if l.Accepted != 0 {
		p.Accepted = stored.Moment(l.Accepted)
	}
	return p
}

// join adds what one list of losses knows to another. Nothing is ever taken back, so the order of joins does not matter.
func join(list, more []Loss) []Loss {
	list = slices.Clone(list)
	for _, l := range more {
		i := slices.IndexFunc(list, l.same)
		if i < 0 {
			list = append(list, l)
			continue
		}
		list[i].Accepted, list[i].Restored = max(list[i].Accepted, l.Accepted), max(list[i].Restored, l.Restored)
	}
	slices.SortFunc(list, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.Found, b.Found), a.Partition-b.Partition)
	})
	return trimLosses(list)
}

// mostLosses is how many losses that are over are remembered.
const mostLosses = 1024

func trimLosses(list []Loss) []Loss {
	for n := len(list) - mostLosses; n > 0; n-- {
		i := slices.IndexFunc(list, func(l Loss) bool { return !l.Open() })
		if i < 0 {
			break
		}
		list = slices.Delete(list, i, i+1)
	}
	return list
}

// Book is what this node knows of losses.
type Book struct {
	mu   sync.Mutex
	list []Loss // oldest first
}

// All returns the losses, oldest first.
func (b *Book) All() []Loss {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.list)
}

// Learn adds losses, and returns the partitions whose loss is accepted as of now.
func (b *Book) Learn(more []Loss) (accepted []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.list
	b.list = join(known, more)
	for _, l := range b.list {
		i := slices.IndexFunc(known, l.same)
		if l.Accepted != 0 && (i < 0 || known[i].Accepted == 0) {
			accepted = append(accepted, l.Partition)
		}
	}
	return accepted
}

// Of returns the loss for which a partition is stopped.
func (b *Book) Of(partition int) (Loss, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.list, func(l Loss) bool { return l.Partition == partition && l.Open() })
	if i < 0 {
		return Loss{}, false
	}
	return b.list[i], true
}

// Without returns those of the partitions that are not stopped.
func (b *Book) Without(partitions []int) []int {
	return slices.DeleteFunc(partitions, func(p int) bool {
		_, stopped := b.Of(p)
		return stopped
	})
}

// Any returns a loss for which a partition is stopped.
func (b *Book) Any() (Loss, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.list, Loss.Open)
	if i < 0 {
		return Loss{}, false
	}
	return b.list[i], true
}

// Stop notes a loss, unless the partition is stopped already.
func (b *Book) Stop(e *weir.LossError) {
	if _, stopped := b.Of(e.Partition); !stopped {
		b.Learn([]Loss{{Partition: e.Partition, Have: e.Have, Acked: e.Acked, Found: time.Now().UnixNano()}})
	}
}

// Close ends the stop of a partition by what change sets.
func (b *Book) Close(partition int, change func(*Loss)) {
	if l, stopped := b.Of(partition); stopped {
		change(&l)
		b.Learn([]Loss{l})
	}
}

// In reports whether a list has everything that this node knows.
func (b *Book) In(list []Loss) bool { return slices.Equal(list, b.All()) }
