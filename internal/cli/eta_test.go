package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/memstore"
)

// succeeds is a step whose calls all succeed at once.
func succeeds(name string, rate float64) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: name, Resource: weir.Resource{Name: name, Rate: weir.PerSecond(rate)},
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			for i := range b.Len() {
				b.Done(i, nil)
			}
			return nil
		},
	})
}

// The ETA of a run is that of the model: it goes by the slow step from the beginning,
// and not by how fast the first items came through.
func TestTheETAOfARunIsThatOfTheModel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e, err := engine.Open(ctx, memstore.New(memstore.Options{}), engine.Options{Slots: 8, Workers: 8})
	if err != nil {
		t.Fatal(err)
	}
	steps := []weir.Step{succeeds("award", 2000), succeeds("mail", 200)}
	chain := weir.Raw("c", steps...)
	if err := e.Handle(chain); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- e.Run(ctx) }()
	items := make([]weir.Item[json.RawMessage], 4000)
	for i := range items {
		items[i] = weir.Item[json.RawMessage]{ID: fmt.Sprint(i), Value: json.RawMessage("{}")}
	}
	b, err := engine.Submit(ctx, e, chain, engine.Items(items), weir.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	tr := &track{steps: steps}
	x := &etas{engine: e, tracks: []*track{tr}, told: map[*track]eta{}}
	for p := range b.Progress(ctx) {
		want := time.Duration(p.Counts.Total-p.Counts.Ended()) * 5 * time.Millisecond
		if got := x.left(ctx, tr, &p); p.Counts.Done > 0 && got > want*9/10 && got < want*11/10 {
			break
		}
		if p.Counts.Ended() > p.Counts.Total/2 {
			t.Fatalf("half of it is done, and no ETA was right; the last is %v, want %v", x.told[tr].end, want)
		}
	}
	cancel()
	<-over
}
