package node

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/weirhq/weir/internal/callback"
	"github.com/weirhq/weir/internal/schedule"
)

// counts is what a node counts of schedules and callbacks.
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
	return &counts{
		lags: f.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_schedule_lag_seconds", Help: "How late schedules fired.", Buckets: prometheus.ExponentialBuckets(0.01, 4, 10), NativeHistogramBucketFactor: 1.1,
		}),
		fires:      f.NewCounterVec(prometheus.CounterOpts{Name: "weir_schedule_fires_total", Help: "Times of schedules, by what came of them."}, []string{"result"}),
		deliveries: f.NewCounterVec(prometheus.CounterOpts{Name: "weir_callback_deliveries_total", Help: "Attempts to deliver a callback, by result."}, []string{"result"}),
	}
}

func (c *counts) lag(d time.Duration) { c.lags.Observe(d.Seconds()) }

func (c *counts) fired(r schedule.Result) { c.fires.WithLabelValues(string(r)).Inc() }

func (c *counts) delivered(_ string, r callback.Result, _ time.Duration) {
	c.deliveries.WithLabelValues(string(r)).Inc()
}
