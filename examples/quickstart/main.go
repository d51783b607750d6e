// Command quickstart is the example of the README: a typed action over 1,000 items.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/store/pebblestore"
)

type User struct{ Email string }

var greet = weir.Action[User, string]{
	Name: "greet", BatchSize: 100,
	Resource: weir.Resource{Name: "mail", Rate: weir.PerSecond(5000), Concurrency: 8},
	Handle: func(ctx context.Context, b *weir.Batch[User, string]) error {
		for i, it := range b.Items() { // up to 100 users in one call
			b.Done(i, "greeted "+it.Value.Email) // or b.Retry, b.Fail, b.LeaveOut
		}
		return nil // an error here means: nothing was done, try them all again
	},
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	store, err := pebblestore.Open("quickstart.weir", pebblestore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	eng, err := engine.Open(ctx, store, engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := eng.Handle(greet); err != nil {
		log.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- eng.Run(ctx) }()

	bulk, err := engine.Submit(ctx, eng, greet, users(1000), weir.Spec{})
	if err != nil {
		log.Fatal(err)
	}
	report, err := bulk.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("done", report.Counts.Done, "failed", report.Counts.Failed)

	stop() // let the engine hand over before its store is closed
	if err := errors.Join(<-ended, store.Close()); err != nil {
		log.Fatal(err)
	}
}

func users(n int) iter.Seq2[weir.Item[User], error] { // any iterator will do: a file, a query
	return func(yield func(weir.Item[User], error) bool) {
		for i := range n {
			if id := fmt.Sprint("user-", i); !yield(weir.Item[User]{ID: id, Value: User{id + "@example.com"}}, nil) {
				return
			}
		}
	}
}
