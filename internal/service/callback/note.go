package callback

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Target is an endpoint that comes with an event: the callback of one bulk action.
type Target struct {
	URL string
	// Secret signs, such as "whsec_…"; several are separated by spaces. Default: the Secret of the
	// options.
	Secret string
}

// destination is the target of one delivery.
type destination struct {
	kind     string
	endpoint string // id, empty for a Target
	host     string
	target   Target
	once     bool
}

// key distinguishes the destinations of one event.
func (d destination) key() string {
	if d.endpoint != "" {
		return d.endpoint
	}
	return "url " + d.target.URL
}

// notedAtOnce bounds the concurrent writes for one event: a store makes several writes durable in
// little more time than one.
const notedAtOnce = 8

// Note creates a delivery of the event for each endpoint that wants it and for oneOff, if given.
// It returns nil when all of them are durable. After an error some may be: the caller must note
// the event again until Note returns nil. Noting an event again does not change existing
// deliveries.
func (n *Notifier) Note(ctx context.Context, ev Event, oneOff *Target) error {
	if err := ev.check(); err != nil {
		return err
	}
	to, err := n.destinations(ctx, ev, oneOff)
	if err != nil || len(to) == 0 {
		return err
	}
	kept, err := n.keepEvent(ctx, ev)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(notedAtOnce)
	for _, dest := range to {
		g.Go(func() error {
			d, err := n.keepDelivery(gctx, ev.ID, kept, dest, nil)
			if err != nil {
				return fmt.Errorf("note event %s: %w", ev.ID, err)
			}
			if d.State == Pending && n.opts.Owns(d.BulkAction) {
				n.runner.Add(jobOf(d, dest.host))
			}
			return nil
		})
	}
	return g.Wait()
}

// Wanted reports whether somebody wants an event. Its data is not needed for that, nor, most of the time, the store.
func (n *Notifier) Wanted(ctx context.Context, ev Event, oneOff *Target) (bool, error) {
	to, err := n.destinations(ctx, ev, oneOff)
	return len(to) > 0, err
}

func (n *Notifier) destinations(ctx context.Context, ev Event, oneOff *Target) ([]destination, error) {
	var to []destination
	if oneOff != nil {
		to = append(to, destination{kind: KindHTTP, host: hostOf(oneOff.URL), target: *oneOff})
	}
	for id, p := range n.sender.topics {
		if p.wants(ev) {
			to = append(to, destination{kind: KindKafka, endpoint: id, host: id})
		}
	}
	endpoints, err := n.registered(ctx)
	for _, e := range endpoints {
		if e.wants(ev) {
			to = append(to, destination{kind: KindHTTP, endpoint: e.ID, host: hostOf(e.URL)})
		}
	}
	return to, err
}
