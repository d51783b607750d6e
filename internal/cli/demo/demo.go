// Package demo is a simulated downstream: actions that behave as real
// services do, so that weir can be tried, shown and tested with nothing set up.
//
// demo.award gives a reward to an item, demo.message tells about it. Both take
// a few milliseconds per batch, are too busy now and then, ask for a second
// attempt at about one item in a hundred, and fail about one in two thousand
// for good. What happens to an item follows from its id and [Options.Seed]
// alone, so two runs over the same items end alike.
//
// [Actions] has them as Go handlers, [Server] as HTTP batch endpoints, [Items]
// makes users to run them over, and [WriteUsers] writes the CSV of the examples.
//
// [Channels] are three slower services for the story of weir dev, [People] are
// those who get the messages, and [Carts] is a segment of them.
package demo

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
)

// Options configures [Actions] and [Server]. The zero value is the demo.
type Options struct {
	// Seed changes which items fail and how long batches take. Default 0.
	Seed uint64
	// NoLatency answers at once.
	NoLatency bool
	// NoFaults lets every item succeed at its first attempt.
	NoFaults bool
}

// Names of the actions.
const (
	Award   = "demo.award"
	Message = "demo.message"
)

// Actions returns demo.award and demo.message, to be used in this order or
// alone. At their rates 100,000 items take about 17 s through both.
func Actions(o Options) []weir.Step {
	return []weir.Step{
		newService(Award, o).step(weir.PerSecond(8000)),
		newService(Message, o).step(weir.PerSecond(6000)),
	}
}

// service is one downstream. Its counter is its only state: a service that
// refused by the items in a call would refuse them for ever.
type service struct {
	name   string
	o      Options
	salt   uint64
	slower float64 // how much longer its calls take than those of the fastest
	calls  atomic.Int64
}

func newService(name string, o Options) *service {
	return &service{name: name, o: o, salt: mix(hash(o.Seed, name)), slower: 1}
}

func (s *service) step(rate weir.Rate) weir.Step {
	step := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: s.name, BatchSize: 100, Timeout: 5 * time.Second,
		Resource: weir.Resource{Name: s.name, Rate: rate, Concurrency: 16},
		Retry:    weir.Backoff{MaxAttempts: 5, Base: 200 * time.Millisecond, Cap: 2 * time.Second},
	})
	step.Handle = s.handle // over the raw task: it sees what the step before answered
	return step
}

func (s *service) handle(ctx context.Context, t *weir.Task) error {
	if len(t.Items) == 0 {
		return nil
	}
	if err := s.wait(ctx, t.Items[0].ID); err != nil {
		return err
	}
	if err := s.refuse(); err != nil {
		return err
	}
	for i := range t.Items {
		t.Outcomes[i] = s.outcome(&t.Items[i], t.Attempt)
	}
	return nil
}

// wait takes as long as a call does: mostly a few milliseconds, sometimes 20.
func (s *service) wait(ctx context.Context, id string) error {
	if s.o.NoLatency {
		return ctx.Err()
	}
	timer := time.NewTimer(s.latency(id))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
