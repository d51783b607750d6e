package server

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics holds the metrics of the server.
type metrics struct {
	requests *prometheus.HistogramVec
	streams  prometheus.Gauge
}

func newMetrics(reg *prometheus.Registry, version string) *metrics {
	var to prometheus.Registerer
	if reg != nil {
		to = reg
	}
	f := promauto.With(to) // nil is fine: counted, not exported
	f.NewGauge(prometheus.GaugeOpts{
		Name: "weir_build_info", Help: "Always 1; the labels tell the version of the program, its commit and the version of Go.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision(), "goversion": runtime.Version()},
	}).Set(1)
	return &metrics{
		requests: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "weir_http_request_duration_seconds", Help: "Duration of requests, by route, method and status.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10), NativeHistogramBucketFactor: 1.1,
		}, []string{"route", "method", "code"}),
		streams: f.NewGauge(prometheus.GaugeOpts{Name: "weir_sse_clients", Help: "Open streams of events."}),
	}
}

// revision returns the commit that the program was built from, as far as the build recorded it.
func revision() string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

func (m *metrics) request(route, method string, status int, took time.Duration) {
	switch method { // a closed set: clients may send any word
	case "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD":
	default:
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}
