package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// outbox holds messages of a partition to the inboxes of others, the newest for
// each partition and bulk action. What is in it when the partition is handed
// over is lost, and made again by the next owner.
type outbox struct {
	from    int // partition
	store   store.Inbox
	timeout time.Duration // of one message: other inboxes may be in better health
	log     *slog.Logger

	mu      sync.Mutex
	waiting map[address][]byte
	busy    bool // a goroutine delivers
}

type address struct {
	partition int
	bulk      weir.BulkID
}

// put takes messages, and reports whether the caller has to see to their delivery.
func (o *outbox) put(out []partition.Outgoing) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting == nil {
		o.waiting = map[address][]byte{}
	}
	for _, m := range out {
		o.waiting[address{m.Partition, m.Bulk}] = m.Body
	}
	first := !o.busy
	o.busy = true
	return first
}

// take removes any message; none means that the goroutine that delivers is done.
func (o *outbox) take() (to address, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for to, body = range o.waiting {
		delete(o.waiting, to)
		return to, body
	}
	o.busy = false
	return to, nil
}

// putBack keeps a message for another try, unless there is a newer one.
func (o *outbox) putBack(to address, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting[to] == nil {
		o.waiting[to] = body
	}
}

// deliver sends all messages until ctx ends.
func (o *outbox) deliver(ctx context.Context) {
	for ctx.Err() == nil {
		to, body := o.take()
		if body == nil {
			return
		}
		if err := o.append(ctx, to.partition, body); err != nil && ctx.Err() == nil {
			o.log.LogAttrs(ctx, slog.LevelWarn, "message to another partition not sent, will try again",
				slog.Int("partition", o.from), slog.Int("to", to.partition), slog.Any("error", err))
			o.putBack(to, body)
			sleep(ctx, retryEvery)
		}
	}
}

func (o *outbox) append(ctx context.Context, to int, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	return o.store.Append(ctx, to, body, store.Claim{})
}
