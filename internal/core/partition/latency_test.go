package partition

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRunTimesAreCountedAsTheHistogramCountsThem(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h, l := newLatency(), latency{}
	for range 5000 {
		us := min(r.Int64N(1<<r.IntN(38)), latencyMax)
		if err := h.RecordValue(us); err != nil {
			t.Fatal(err)
		}
		l.record(us*latencyUnit + r.Int64N(latencyUnit))
	}
	for _, service := range []int64{-1, 0, 1 << 62} { // a clock that was set back; nothing; more than a day
		if err := h.RecordValue(min(max(0, service/latencyUnit), latencyMax)); err != nil {
			t.Fatal(err)
		}
		l.record(service)
	}
	if got, want := l.histogram().Export().Counts, h.Export().Counts; !slices.Equal(got, want) {
		t.Errorf("buckets = %v\nwant %v", got, want)
	}
	var back latency
	if err := back.decode(l.append(nil)); err != nil || !slices.Equal(back.counts, l.counts) || back.first != l.first {
		t.Errorf("read back: %+v, %v\nwant %+v", back, err, l)
	}
}

func TestOneRunTimeTakesOneBucket(t *testing.T) {
	var l latency
	if l.histogram() != nil || len(l.append(nil)) != 0 {
		t.Error("without a run time there is something to write")
	}
	l.record(20e6)
	if len(l.counts) != 1 {
		t.Errorf("buckets of one run time = %d, want 1", len(l.counts))
	}
}
