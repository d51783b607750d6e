package engine

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	inner "github.com/weirhq/weir/internal/engine"
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
	// Scaling says how workers follow the load, where operators have set nothing.
	// Default: by Little's law, between Workers and Slots.
	Scaling weir.Scaling
	// MaxPending is how many items may be accepted and not ended; more are
	// refused with a [weir.BacklogError]. Default 100 million.
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

func (o *Options) inner() inner.Options {
	return inner.Options{
		Partitions: o.Partitions, Slots: o.Slots, Workers: o.Workers, Scaling: o.Scaling, MaxPending: o.MaxPending,
		LeaseFor: o.LeaseFor, DrainFor: o.DrainFor, Grace: o.Grace, CacheBytes: o.CacheBytes, KeepFor: o.KeepFor,
		Transport: o.Transport, AcceptLoss: o.AcceptLoss, Metrics: o.Metrics, Tracer: o.Tracer, Logger: o.Logger,
	}
}
