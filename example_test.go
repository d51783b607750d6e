package weir_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
)

var errBusy = errors.New("wallet is busy")

// wallet stands for a service with a batch call.
type wallet struct{}

func (wallet) award(amounts []int) (receipts []string, errs []error) {
	for _, a := range amounts {
		switch {
		case a > 100:
			receipts, errs = append(receipts, ""), append(errs, errors.New("too much"))
		case a == 100:
			receipts, errs = append(receipts, ""), append(errs, errBusy)
		default:
			receipts, errs = append(receipts, fmt.Sprint("r", a)), append(errs, nil)
		}
	}
	return receipts, errs
}

// A handler gets a batch, makes one call for all of it, and answers per item.
func ExampleBatch() {
	award := weir.Action[int, string]{Name: "award", Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
		var amounts []int
		for _, it := range b.Items() {
			amounts = append(amounts, it.Value)
		}
		receipts, errs := wallet{}.award(amounts)
		for i := range receipts {
			switch {
			case errs[i] == nil:
				b.Done(i, receipts[i])
			case errors.Is(errs[i], errBusy):
				b.Retry(i, errs[i], 30*time.Second)
			default:
				b.Fail(i, "rejected", errs[i])
			}
		}
		return nil
	}}
	// An engine makes tasks and calls the handler; here it is called by hand.
	task := &weir.Task{
		Items:    []weir.TaskItem{{ID: "ann", Data: []byte("5")}, {ID: "ben", Data: []byte("100")}, {ID: "cid", Data: []byte("500")}},
		Outcomes: make([]weir.Outcome, 3),
	}
	if err := weir.Start(award).Steps()[0].Handle(context.Background(), task); err != nil {
		fmt.Println(err)
	}
	for i, o := range task.Outcomes {
		fmt.Printf("%s: %v %s%s%s\n", task.Items[i].ID, o.Kind, o.Output, o.Code, o.After)
	}
	// Output:
	// ann: done "r5"0s
	// ben: retry 30s
	// cid: failed rejected0s
}

// The second step's input is made of the item and of what the first step answered.
func ExampleThen() {
	award := weir.Action[int, string]{
		Name: "award", Resource: weir.Resource{Name: "wallet", Rate: weir.PerSecond(500)},
		Handle: func(_ context.Context, b *weir.Batch[int, string]) error { b.DoneRest(); return nil },
	}
	notify := weir.HTTPAction[string, struct{}]{Name: "notify", URL: "https://push.internal/batch"}.Action()
	chain := weir.Then(weir.Start(award), notify, func(user weir.Item[int], receipt string) string {
		return fmt.Sprintf("%s, your reward %s is here", user.ID, receipt)
	})
	for _, s := range chain.Steps() {
		fmt.Println(s.Name, s.BatchSize, s.Resource.Name, s.Resource.Rate)
	}
	fmt.Println(chain.Name())
	// Output:
	// award 100 wallet 500/s
	// notify 100 notify unlimited
	// award+notify
}
