package telemetry

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Buckets of a spread are those of native histograms: four for each doubling.
// Up to zeroUpTo everything is one bucket, and above the last one there is nothing:
// it is more than a task can take.
const (
	spreadSchema = 2
	perDoubling  = 1 << spreadSchema
	leastPower   = -14 // zeroUpTo is two to this power
	mostPower    = 17
	spreadSize   = (mostPower - leastPower) * perDoubling
)

var (
	zeroUpTo = math.Ldexp(1, leastPower)
	// withinDoubling are the bounds between one half and one.
	withinDoubling = [perDoubling]float64{0.5, math.Exp2(-0.75), math.Exp2(-0.5), math.Exp2(-0.25)}
)

// spread counts values by their size. Adding takes a few nanoseconds and any
// weight; it belongs to one goroutine, or to the holder of its lock.
type spread struct {
	sum     float64
	zero    uint64
	buckets [spreadSize]uint64
}

// add counts a value n times.
func (s *spread) add(v float64, n int) {
	s.sum += v * float64(n)
	if !(v > zeroUpTo) {
		s.zero += uint64(n)
		return
	}
	fraction, exponent := math.Frexp(v)
	key := (exponent - 1) * perDoubling
	for _, bound := range withinDoubling {
		if fraction > bound {
			key++
		}
	}
	s.buckets[min(key-leastPower*perDoubling-1, spreadSize-1)] += uint64(n)
}

// merge adds all that another one has counted.
func (s *spread) merge(o *spread) {
	s.sum += o.sum
	s.zero += o.zero
	for i, n := range o.buckets {
		s.buckets[i] += n
	}
}

func (s *spread) count() uint64 {
	n := s.zero
	for _, b := range s.buckets {
		n += b
	}
	return n
}

// Powers of two that are the bounds of classic buckets.
var (
	secondsPowers = []int{-12, -10, -8, -6, -4, -2, 0, 2, 4, 6, 8, 10, 12}
	ratioPowers   = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 10}
	itemsPowers   = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
)

// metric is the spread as a histogram with native and classic buckets.
func (s *spread) metric(d *prometheus.Desc, powers []int, since time.Time, labels ...string) prometheus.Metric {
	native := map[int]int64{}
	for i, n := range s.buckets {
		if n > 0 {
			native[i+1+leastPower*perDoubling] = int64(n)
		}
	}
	m, err := prometheus.NewConstNativeHistogram(d, s.count(), s.sum, native, nil, s.zero, spreadSchema, zeroUpTo, since, labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(d, err)
	}
	return &histogram{m, s.classic(powers)}
}

// classic are the same values in buckets that every Prometheus knows.
func (s *spread) classic(powers []int) (out []*dto.Bucket) {
	sum, at := s.zero, 0
	for _, p := range powers {
		for end := (p - leastPower) * perDoubling; at < end; at++ {
			sum += s.buckets[at]
		}
		bound, n := math.Ldexp(1, p), sum
		out = append(out, &dto.Bucket{UpperBound: &bound, CumulativeCount: &n})
	}
	return out
}

// histogram adds classic buckets to a native histogram.
type histogram struct {
	prometheus.Metric
	classic []*dto.Bucket
}

// Write implements prometheus.Metric.
func (h *histogram) Write(out *dto.Metric) error {
	if err := h.Metric.Write(out); err != nil {
		return err
	}
	out.Histogram.Bucket = h.classic
	return nil
}
