package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/store/redisstore"
)

// User receives a message.
type User struct{ Email string }

// message sends at most 10,000 messages a second from all nodes together.
func message(sent *atomic.Int64) weir.Action[User, string] {
	return weir.Action[User, string]{
		Name: "message", BatchSize: 100,
		Resource: weir.Resource{Name: "mail", Rate: weir.PerSecond(10_000)},
		Handle: func(_ context.Context, b *weir.Batch[User, string]) error {
			time.Sleep(5 * time.Millisecond) // what the mail service takes
			for i, it := range b.Items() {
				b.Done(i, "sent to "+it.Value.Email)
			}
			sent.Add(int64(b.Len()))
			return nil
		},
	}
}

// connect opens the store that all nodes share. This is all that differs from one machine.
func connect(ctx context.Context, redis string) (*redisstore.Store, error) {
	return redisstore.Open(ctx, redisstore.Options{Addresses: []string{redis}, Mode: redisstore.Memory, Stage: "example"})
}

// node is one of the processes: it runs its share of everything until it is told to stop.
func node(name, redis string, out io.Writer) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	store, err := connect(ctx, redis)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	eng, err := engine.Open(ctx, store, engine.Options{LeaseFor: 3 * time.Second})
	if err != nil {
		return err
	}
	var sent atomic.Int64
	if err := eng.Handle(message(&sent)); err != nil {
		return err
	}
	go tellEverySecond(ctx, name, eng, &sent, out)
	return eng.Run(ctx)
}

func tellEverySecond(ctx context.Context, name string, eng *engine.Engine, sent *atomic.Int64, out io.Writer) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for before := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := sent.Load()
		fmt.Fprintf(out, "  %s sends %5d/s and owns partitions %v\n", name, now-before, eng.Owned())
		before = now
	}
}
