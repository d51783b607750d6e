// Command quickstart is the example of the README: a typed action over 1,000 users.
package main

import (
	"context"
	"errors"
	"fmt"
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

func run(ctx context.Context, users []weir.Item[User]) (err error) {
	store, err := pebblestore.Open("quickstart.weir", pebblestore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	eng, err := engine.Open(ctx, store, engine.Options{})
	if err != nil {
		return err
	}
	if err := eng.Handle(greet); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- eng.Run(working) }()
	defer func() { stop(); err = errors.Join(err, <-ended) }() // it hands over before its store is closed

	bulk, err := engine.Submit(ctx, eng, greet, engine.Items(users), weir.Spec{}) // or any iterator: a file, a query
	if err != nil {
		return err
	}
	report, err := bulk.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Println("done", report.Counts.Done, "failed", report.Counts.Failed)
	return nil
}

func main() {
	var users []weir.Item[User]
	for i := range 1000 {
		id := fmt.Sprint("user-", i)
		users = append(users, weir.Item[User]{ID: id, Value: User{id + "@example.com"}})
	}
	if err := run(context.Background(), users); err != nil {
		log.Fatal(err)
	}
}
