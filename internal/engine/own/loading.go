package own

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
)

// Loading orders the partitions that this node loads at the same time: as many as
// there are processors go ahead, the lowest numbers first. The first partition starts
// its tasks long before the last is loaded, which is loaded no later for that. One that
// waits for the store keeps no other from going ahead.
type Loading struct {
	mu      sync.Mutex
	ahead   int
	waiting []turn
}

type turn struct {
	partition int
	come      chan struct{}
}

// enter waits until it is the partition's turn.
func (l *Loading) enter(partition int) {
	l.mu.Lock()
	if l.ahead < runtime.GOMAXPROCS(0) {
		l.ahead++
		l.mu.Unlock()
		return
	}
	t := turn{partition, make(chan struct{})}
	l.waiting = append(l.waiting, t)
	l.mu.Unlock()
	<-t.come
}

// leave gives the turn to the first of those that wait.
func (l *Loading) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.ahead--
		return
	}
	first := slices.MinFunc(l.waiting, func(a, b turn) int { return cmp.Compare(a.partition, b.partition) })
	l.waiting = slices.DeleteFunc(l.waiting, func(t turn) bool { return t == first })
	close(first.come)
}

// Load fills the machine of a partition in its turn. Where the store is another process, which may
// keep one partition waiting, the partition lets others go ahead meanwhile.
func (l *Loading) Load(m *partition.Machine, now int64, from stored.Rows, shared bool) error {
	l.enter(from.Partition)
	defer l.leave()
	if shared {
		return m.Load(now, inTurn{from, l})
	}
	return m.Load(now, from)
}

// inTurn is rows of a partition that is loaded in its turn, which it gives up while it waits for the store.
type inTurn struct {
	stored.Rows
	loading *Loading
}

func (r inTurn) GetMany(keys [][]byte) ([][]byte, error) {
	r.loading.leave()
	defer r.loading.enter(r.Partition)
	return r.Rows.GetMany(keys)
}

func (r inTurn) Get(key []byte) ([]byte, error) {
	r.loading.leave()
	defer r.loading.enter(r.Partition)
	return r.Rows.Get(key)
}

func (r inTurn) Scan(prefix []byte, yield func(key, value []byte) error) error {
	r.loading.leave()
	defer r.loading.enter(r.Partition)
	return r.Rows.Scan(prefix, yield)
}
