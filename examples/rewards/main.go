// Rewards gives every user of a file a reward and tells them about it: a typed chain of two actions, a
// store on disk, and a report. Kill it at any moment and start it again: it goes on where it was. Try it:
//
//	go run ./examples/rewards < examples/rewards/users.csv
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"log"
	"os"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/store/pebblestore"
)

type (
	user    struct{ Email string }
	reward  struct{ RewardID string }
	message struct{ To, Text string }
)

var award = weir.Action[user, reward]{
	Name: "award", BatchSize: 200, Resource: weir.Resource{Name: "wallet", Rate: weir.PerSecond(20_000)},
	Handle: func(_ context.Context, b *weir.Batch[user, reward]) error {
		for i, u := range b.Items() {
			b.Done(i, reward{"r-" + u.ID}) // call your wallet here, with b.Key(i) as its idempotency key
		}
		return nil
	},
}

var notify = weir.Action[message, struct{}]{Name: "notify",
	Handle: func(_ context.Context, b *weir.Batch[message, struct{}]) error {
		for i, m := range b.Items() {
			if m.Value.To == "" {
				b.Fail(i, "no_address", errors.New("user has no email"))
			}
		}
		b.DoneRest()
		return nil
	}}

var rewards = weir.Then(weir.Start(award), notify, func(u weir.Item[user], r reward) message {
	return message{To: u.Value.Email, Text: "You got reward " + r.RewardID}
})

// run opens the store in dir, rewards the users of the input, and writes the report into out. The input has the
// columns user_id, amount, country and email.
func run(ctx context.Context, input io.Reader, dir, out string) (report *engine.Report, err error) {
	s, err := pebblestore.Open(dir, pebblestore.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	e, err := engine.Open(ctx, s, engine.Options{})
	if err != nil {
		return nil, err
	}
	if err := e.Handle(rewards); err != nil {
		return nil, err
	}
	working, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- e.Run(working) }()
	defer func() { stop(); err = errors.Join(err, <-ended) }()
	spec := weir.Spec{Duplicates: weir.KeepFirst, IdempotencyKey: "spring"} // a second start finds the first
	ba, err := engine.Submit(ctx, e, rewards, users(csv.NewReader(input)), spec)
	if err != nil {
		return nil, err
	}
	if report, err = ba.Wait(ctx); err != nil {
		return nil, err
	}
	return report, report.WriteDir(ctx, out)
}

// users yields the rows below the header as items.
func users(rows *csv.Reader) iter.Seq2[weir.Item[user], error] {
	return func(yield func(weir.Item[user], error) bool) {
		_, err := rows.Read() // the header
		for more := err == nil; more; {
			var row []string
			row, err = rows.Read()
			more = err == nil && yield(weir.Item[user]{ID: row[0], Value: user{row[3]}}, nil)
		}
		if err != nil && err != io.EOF {
			yield(weir.Item[user]{}, err)
		}
	}
}

func main() {
	report, err := run(context.Background(), os.Stdin, "rewards.weir", "out")
	if err != nil {
		log.Fatal(err)
	}
	log.Println(report.Counts.Done, "items done, see out/report.json")
}
