package engine

import (
	"runtime"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/telemetry"
	"github.com/weirhq/weir/store"
)

// input is one thing that happened to a partition: one of its fields is set.
type input struct {
	run       *run                     // a task ended
	messages  []store.Message          // the inbox has more
	committed bool                     // the commit under way is durable
	stalled   bool                     // the commit under way failed, and is made again
	called    bool                     // something was picked for the partition, or it should look what may start
	observe   chan<- []weir.Lane       // tell what the lanes did; there is room for the answer
	moved     chan<- []telemetry.Moved // tell which bulk actions moved; there is room for the answer
	limits    bool                     // limits of resources or tenants have changed
	reach     bool                     // other nodes run other partitions than before
	noted     *partition.Event         // was delivered
	remove    *partition.Removal       // of something that is over
	stop      bool                     // start nothing more: the engine is told to stop
	renewed   bool                     // the lease is held after all
	turn      bool                     // a suspect may be run, or must not be disturbed
	abandon   bool                     // do not wait for running tasks any longer
	err       error                    // the partition cannot go on
}

// mailbox is the one way into a partition's loop. Order of inputs is order of
// sends. put never blocks: what can be in it is bounded by slots, one commit and
// one read of the inbox.
type mailbox struct {
	mu     sync.Mutex
	queue  []input
	signal chan struct{} // holds one token while queue may be non-empty
}

func newMailbox() *mailbox { return &mailbox{signal: make(chan struct{}, 1)} }

func (m *mailbox) put(in input) {
	m.mu.Lock()
	m.queue = append(m.queue, in)
	first := len(m.queue) == 1
	m.mu.Unlock()
	if first {
		select {
		case m.signal <- struct{}{}:
		default:
		}
	}
}

// Called implements limits.Caller.
func (m *mailbox) Called() { m.put(input{called: true}) }

// take waits until there is an input or the timer fires, and returns all there
// are. If many are on their way, it lets others run first, so that there are more.
// spare is a slice to reuse.
func (m *mailbox) take(spare []input, timer *time.Timer, many bool) []input {
	select {
	case <-m.signal:
		if many {
			runtime.Gosched()
		}
	case <-timer.C:
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	got := m.queue
	m.queue = spare[:0]
	return got
}
