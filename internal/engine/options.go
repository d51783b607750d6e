package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/coord"
	"github.com/weirhq/weir/internal/engine/retention"
	"github.com/weirhq/weir/internal/engine/stored"
)

// Options configures [Open]. The zero value is ready for production.
type Options struct {
	// Partitions is the number of independent queues, over all nodes: at most 256. Another number than
	// the store has holds for new work from then on. Default: what the store has, 4 per core if it is empty.
	Partitions int
	// Slots is how many tasks may run at once on this node. Tenants that have less than
	// their share may use an eighth more. Calls that hang do not count, up to as many
	// again as there are slots. Default 64.
	Slots int
	// Workers is how many tasks of one lane, a resource in a partition, run at once before the load is
	// known, and at least. Default 16, or Slots if that is less.
	Workers int
	// Scaling says how workers follow the load, where operators have set nothing; see [Engine.SetScaling].
	// Default: by Little's law, between Workers and Slots.
	Scaling weir.Scaling
	// MaxPending is how many items may be accepted and not ended; more are refused with a
	// [weir.BacklogError], and a bulk action that alone has more with a [weir.FieldError]. Default 100 million.
	MaxPending int64
	// LeaseFor is how long a silent node keeps its partitions. Default 10s, at least 1s.
	LeaseFor time.Duration
	// DrainFor is how long running tasks may take to end when Run is told to
	// stop; then they are abandoned, and run again after the next start. Default 30s.
	DrainFor time.Duration
	// Grace is how long a task that timed out may take to return before its slot
	// is given to others. Default 5s.
	Grace time.Duration
	// CacheBytes bounds the opened blocks kept for running tasks. Default 48 MiB.
	CacheBytes int
	// KeepFor is how long a bulk action is kept after its end; then it is removed with its items and its report.
	// Default 30 days, at least 1m. Less than 0: for ever.
	KeepFor time.Duration
	// Transport makes the calls of HTTP actions. Default: one that follows no redirects and no proxy.
	Transport http.RoundTripper
	// Describe makes the steps of a chain that is not registered of its text; see [weir.Described]. The same
	// text must give the same steps on all nodes. Default: only registered chains are run.
	Describe func(text []byte) ([]weir.Step, error)
	// Events is told when a bulk action that was submitted with it set has ended, was stopped, or waits for
	// approval: at least once each, also after a crash. It is told again until it returns nil. Default: events are dropped.
	Events func(context.Context, Event) error
	// Drafts reports whether the items stored under an id belong to a bulk action that will be submitted by
	// [Engine.SubmitAs], and must not be removed. Default: there are none.
	Drafts func(context.Context, weir.BulkID) (bool, error)
	// AcceptLoss goes on with what is left when the store has lost acknowledged work that cannot be put
	// back, instead of stopping the partitions concerned. Default false: see [weir.LossError].
	AcceptLoss bool
	// Metrics is where a running engine exports what it counts, such as
	// [prometheus.DefaultRegisterer]. Default: nowhere.
	Metrics prometheus.Registerer
	// Tracer takes spans of bulk actions, their tasks and calls; see docs/traces.md. Default: no spans are made.
	Tracer weir.Tracer
	// Logger takes the engine's log. Default [slog.Default].
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Slots = cmp.Or(o.Slots, 64)
	o.Workers = min(cmp.Or(o.Workers, 16), max(o.Slots, 1))
	o.MaxPending = cmp.Or(o.MaxPending, 100_000_000)
	o.LeaseFor = cmp.Or(o.LeaseFor, 10*time.Second)
	o.DrainFor = cmp.Or(o.DrainFor, 30*time.Second)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.CacheBytes = cmp.Or(o.CacheBytes, 48<<20)
	o.KeepFor = cmp.Or(o.KeepFor, retention.Default)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

func (o Options) validate() error {
	var bad weir.InputError
	within := func(field string, v, low, high int64) {
		if v < low || v > high {
			bad.Add("out_of_range", field, fmt.Sprintf("%d is not between %d and %d", v, low, high), "leave it 0 for the default")
		}
	}
	within("Partitions", int64(o.Partitions), 0, stored.MaxPartitions)
	within("Slots", int64(o.Slots), 1, 1_000_000)
	within("Workers", int64(o.Workers), 1, 1_000_000)
	if err := coord.Validate(&o.Scaling); err != nil {
		bad.Add("bad_scaling", "Scaling", err.Error(), "leave it empty for the default")
	}
	within("MaxPending", o.MaxPending, 1, 1<<40)
	within("CacheBytes", int64(o.CacheBytes), 1<<20, 1<<40)
	for _, d := range []struct {
		field string
		v     time.Duration
		low   time.Duration
	}{{"LeaseFor", o.LeaseFor, time.Second}, {"DrainFor", o.DrainFor, 0}, {"Grace", o.Grace, 0}} {
		if d.v < d.low || d.v > time.Hour {
			bad.Add("out_of_range", d.field, fmt.Sprintf("%v is not between %v and 1h", d.v, d.low), "leave it 0 for the default")
		}
	}
	if o.KeepFor > retention.Most || o.KeepFor >= 0 && o.KeepFor < retention.Least {
		bad.Add("out_of_range", "KeepFor", fmt.Sprintf("%v is not between %v and 100 years", o.KeepFor, retention.Least),
			"leave it 0 for the default, or set -1 to keep bulk actions for ever")
	}
	return bad.OrNil()
}
