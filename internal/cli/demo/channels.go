package demo

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
)

// Names of the actions of [Channels].
const (
	Push  = "demo.push"
	Email = "demo.email"
	SMS   = "demo.sms"
)

// Outage says when a service is down, counted from its first call. The zero value: never.
type Outage struct {
	After time.Duration // from the first call until the first outage
	For   time.Duration // how long it takes
	Every time.Duration // from the start of one outage until the start of the next. 0: there is only one
}

// down reports whether an outage is under way so long after the first call.
func (o Outage) down(since time.Duration) bool {
	since -= o.After
	if since < 0 {
		return false
	}
	if o.Every > 0 {
		since %= o.Every
	}
	return since < o.For
}

// Channels returns demo.push, demo.email and demo.sms: services that are slow enough to watch. demo.push is the
// narrow one, demo.email has addresses that do not exist, and demo.sms is down at times.
func Channels(o Options, sms Outage) []weir.Step {
	return []weir.Step{
		newChannel(Push, o).step(weir.PerSecond(150), 25),
		newChannel(Email, o).step(weir.PerSecond(200), 40),
		newChannel(SMS, o).failing(sms).step(weir.PerSecond(20), 4),
	}
}

// How channels differ from the services of [Actions].
const (
	channelSlower = 20 // times
	bounceOneIn   = 37 // users that demo.email cannot reach: user-42 is one of them
)

var errDown = errors.New("502 Bad Gateway: no answer from the carrier")

// channel is a service that sends messages to people.
type channel struct {
	*service
	outage Outage
	first  atomic.Int64 // when it was called first, in nanoseconds
}

func newChannel(name string, o Options) *channel {
	c := &channel{service: newService(name, o)}
	c.slower = channelSlower
	return c
}

func (c *channel) failing(o Outage) *channel {
	c.outage = o
	return c
}

// step makes calls of a whole batch: few calls, so that a demo that runs all day takes little of the machine.
func (c *channel) step(rate weir.Rate, batch int) weir.Step {
	step := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: c.name, BatchSize: batch, Timeout: 5 * time.Second,
		Resource: weir.Resource{Name: c.name, Rate: rate, Concurrency: 8, Pacing: weir.PacingFull},
		Retry:    weir.Backoff{MaxAttempts: 8, Base: time.Second, Cap: 10 * time.Second},
	})
	step.Handle = c.handle
	return step
}

func (c *channel) handle(ctx context.Context, t *weir.Task) error {
	if len(t.Items) == 0 {
		return nil
	}
	if err := c.wait(ctx, t.Items[0].ID); err != nil {
		return err
	}
	now := time.Now()
	c.first.CompareAndSwap(0, now.UnixNano())
	if c.outage.down(now.Sub(time.Unix(0, c.first.Load()))) {
		return errDown
	}
	for i := range t.Items {
		t.Outcomes[i] = c.outcome(t.Items[i].ID, t.Attempt)
	}
	return nil
}

// outcome returns the result of an item at an attempt: the same every time.
func (c *channel) outcome(id string, attempt int) weir.Outcome {
	switch {
	case c.o.NoFaults:
	case c.name == Email && c.draw(id, "bounce")%bounceOneIn == 0:
		return weir.Outcome{Kind: weir.OutcomeFailed, Code: "bounced", Message: "mailbox of " + id + " does not exist"}
	case c.name == Email && c.draw(id, "consent")%(2*bounceOneIn) == 0:
		return weir.Outcome{Kind: weir.OutcomeFailed, Code: "unsubscribed", Message: "the recipient wants no messages"}
	case attempt <= 1 && c.draw(id, "retry")%retryOneIn == 0:
		return weir.Outcome{Kind: weir.OutcomeRetry, Code: "busy", Message: "try again", After: time.Second}
	}
	return weir.Outcome{Kind: weir.OutcomeDone, Output: named(`{"message_id":"m-`, c.draw(id, "message"))}
}
