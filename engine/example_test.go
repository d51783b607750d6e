package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/store/memstore"
)

// Two steps over a few users: who gets a reward is told so, who does not is in
// the report with the reason.
func Example() {
	type user struct{ Name string }
	award := weir.Action[user, string]{Name: "award", Handle: func(_ context.Context, b *weir.Batch[user, string]) error {
		for i, it := range b.Items() {
			if it.Value.Name == "" {
				b.Fail(i, "no_name", errors.New("user has no name"))
				continue
			}
			b.Done(i, "reward-"+it.ID)
		}
		return nil
	}}
	message := weir.Action[string, string]{Name: "message", Handle: func(_ context.Context, b *weir.Batch[string, string]) error {
		for i, it := range b.Items() {
			b.Done(i, "sent: "+it.Value)
		}
		return nil
	}}
	chain := weir.Then(weir.Start(award), message, func(u weir.Item[user], reward string) string {
		return u.Value.Name + " gets " + reward
	})

	ctx, stop := context.WithCancel(context.Background())
	eng, err := engine.Open(ctx, memstore.New(memstore.Options{}), engine.Options{})
	check(err)
	check(eng.Handle(chain))
	ended := make(chan error)
	go func() { ended <- eng.Run(ctx) }()

	users := []weir.Item[user]{{ID: "1", Value: user{"Ann"}}, {ID: "2"}, {ID: "3", Value: user{"Ben"}}}
	bulk, err := engine.Submit(ctx, eng, chain, engine.Items(users), weir.Spec{})
	check(err)
	report, err := bulk.Wait(ctx)
	check(err)
	for row, err := range report.Rows(ctx) {
		check(err)
		fmt.Printf("%s %s at %s: %s%s\n", row.ID, row.State, row.Step, row.Output, row.Code)
	}
	stop() // running tasks finish
	check(<-ended)
	// Output:
	// 1 done at message: "sent: Ann gets reward-1"
	// 2 failed at award: no_name
	// 3 done at message: "sent: Ben gets reward-3"
}

// A reducer makes one value of all results, whatever their number.
func ExampleReduce() {
	price := weir.Action[int, int]{Name: "price", Handle: func(_ context.Context, b *weir.Batch[int, int]) error {
		for i, it := range b.Items() {
			b.Done(i, it.Value*2)
		}
		return nil
	}}
	ctx, stop := context.WithCancel(context.Background())
	eng, err := engine.Open(ctx, memstore.New(memstore.Options{}), engine.Options{})
	check(err)
	check(eng.Handle(price))
	ended := make(chan error)
	go func() { ended <- eng.Run(ctx) }()

	items := []weir.Item[int]{{ID: "a", Value: 1}, {ID: "b", Value: 2}, {ID: "c", Value: 3}}
	bulk, err := engine.Submit(ctx, eng, price, engine.Items(items), weir.Spec{})
	check(err)
	_, err = bulk.Wait(ctx)
	check(err)
	sum, err := engine.Reduce(ctx, bulk, engine.Reducer[int, int]{
		New:   func() int { return 0 },
		Add:   func(sum int, r engine.ItemResult[int]) int { return sum + r.Output },
		Merge: func(a, b int) int { return a + b },
	})
	check(err)
	fmt.Println(sum)
	stop()
	check(<-ended)
	// Output: 12
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
