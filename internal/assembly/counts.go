package assembly

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/weirhq/weir/internal/service/callback"
	"github.com/weirhq/weir/internal/service/schedule"
)

// counts holds a node's metrics of schedules and callbacks.
type counts struct {
	lags       prometheus.Histogram
	fires      *prometheus.CounterVec
	deliveries *prometheus.CounterVec
}

func newCounts(reg *prometheus.Registry) *counts {
	var to prometheus.Registerer
	if reg != nil {
		to = reg
	}
	f := promauto.With(to) // nil is fine: counted, not exported
	c := &counts{
		lags: f.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_schedule_lag_seconds", Help: "How late schedules fired.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 10), NativeHistogramBucketFactor: 1.1,
		}),
		fires: f.NewCounterVec(prometheus.CounterOpts{Name: "weir_schedule_fires_total",
			Help: "Times at which schedules fired, by result."}, []string{"result"}),
		deliveries: f.NewCounterVec(prometheus.CounterOpts{Name: "weir_callback_deliveries_total",
			Help: "Attempts to deliver a callback, by result."}, []string{"result"}),
	}
	// Series start at 0: an alert on an increase must see the first event.
	for _, r := range callback.Results() {
		c.deliveries.WithLabelValues(string(r))
	}
	for _, r := range schedule.Results() {
		c.fires.WithLabelValues(string(r))
	}
	return c
}

// watch exports how long the oldest callback has been pending.
func (c *counts) watch(reg *prometheus.Registry, oldest func() time.Duration) {
	if reg == nil {
		return
	}
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "weir_callback_oldest_pending_seconds", Help: "How long the oldest callback of this node has been pending; 0 if none is.",
	}, func() float64 { return oldest().Seconds() })
}

// ready exports whether new work is accepted.
func (c *counts) ready(reg *prometheus.Registry, problem func() string) {
	if reg == nil {
		return
	}
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "weir_store_ready", Help: "1 while the store accepts new work with the configured durability, otherwise 0; " +
			"/readyz says why.",
	}, func() float64 {
		if problem() == "" {
			return 1
		}
		return 0
	})
}

func (c *counts) lag(d time.Duration) { c.lags.Observe(d.Seconds()) }

func (c *counts) fired(r schedule.Result) { c.fires.WithLabelValues(string(r)).Inc() }

func (c *counts) delivered(r callback.Result) {
	c.deliveries.WithLabelValues(string(r)).Inc()
}
