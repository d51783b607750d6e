package assembly

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service"
	"github.com/weirhq/weir/internal/service/result"
)

const (
	// surveyEvery is how often data is read that a scrape should not have to read.
	surveyEvery = 15 * time.Second
	// surveyShare bounds the time spent: the pause between two reads is at least so many times
	// as long as a read.
	surveyShare = 50
)

// sizer is a store that reports its size.
type sizer interface {
	Size(ctx context.Context) (int64, error)
}

// survey holds the result of the last read: the DLQ of this node's partitions, and the size of
// the store. One goroutine reads; scrapes return its last result.
type survey struct {
	surveyor *result.Surveyor
	store    sizer // nil: its size is unknown
	log      *slog.Logger
	errors   prometheus.Histogram

	items, oldest, size *prometheus.Desc

	mu    sync.Mutex
	dlq   map[string]result.Left // by action; actions that once had items stay
	bytes int64                  // 0: unknown
}

func newSurvey(s *service.Service, o *Options) *survey {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	v := &survey{
		surveyor: s.Results.Surveyor(), log: o.Logger, dlq: map[string]result.Left{},
		items: desc("weir_dlq_items",
			"Failed items of this node's partitions that were neither retried nor discarded, by the action at which they failed.", "action"),
		oldest: desc("weir_dlq_oldest_seconds",
			"Age of the oldest of these failures, or of one in the same error group that was retried since.", "action"),
		size: desc("weir_store_size_bytes", "Size of the store: on disk, or in the memory of all its servers."),
		errors: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "weir_forecast_error_ratio",
			Help:    "Duration of completed bulk actions minus the forecast at their start, as a share of the forecast.",
			Buckets: []float64{-0.5, -0.2, -0.1, -0.05, 0, 0.05, 0.1, 0.2, 0.5, 1, 2, 5}, NativeHistogramBucketFactor: 1.1,
		}),
	}
	v.store, _ = o.Store.(sizer)
	if o.Metrics != nil {
		o.Metrics.MustRegister(v, v.errors)
	}
	return v
}

// run reads repeatedly until ctx ends.
func (v *survey) run(ctx context.Context) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		began := time.Now()
		v.look(ctx)
		wait.Reset(max(surveyEvery, surveyShare*time.Since(began)))
	}
}

func (v *survey) look(ctx context.Context) {
	dlq, err := v.surveyor.Look(ctx)
	if err != nil && ctx.Err() == nil {
		v.log.LogAttrs(ctx, slog.LevelWarn, "the DLQ was not counted for metrics, will be tried again", slog.Any("error", err))
	}
	var bytes int64
	if v.store != nil {
		var err error
		if bytes, err = v.store.Size(ctx); err != nil && ctx.Err() == nil {
			v.log.LogAttrs(ctx, slog.LevelWarn, "the store was not measured for metrics, will be tried again", slog.Any("error", err))
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		v.saw(dlq)
	}
	if bytes > 0 {
		v.bytes = bytes
	}
}

// saw records the content of the DLQ. An action without items left is reported as 0.
func (v *survey) saw(dlq map[string]result.Left) {
	for action := range v.dlq {
		v.dlq[action] = result.Left{}
	}
	for action, left := range dlq {
		v.dlq[action] = left
	}
}

// ended compares a bulk action that has ended with its forecast.
func (v *survey) ended(b *api.BulkAction) {
	if share, ok := v.surveyor.Error(b); ok {
		v.errors.Observe(share)
	}
}

// Describe implements prometheus.Collector.
func (v *survey) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{v.items, v.oldest, v.size} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (v *survey) Collect(out chan<- prometheus.Metric) {
	v.mu.Lock()
	defer v.mu.Unlock()
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	for action, left := range v.dlq {
		gauge(v.items, float64(left.Items), action)
		age := 0.0
		if left.Items > 0 && !left.Oldest.IsZero() {
			age = max(time.Since(left.Oldest).Seconds(), 0)
		}
		gauge(v.oldest, age, action)
	}
	if v.bytes > 0 {
		gauge(v.size, float64(v.bytes))
	}
}
