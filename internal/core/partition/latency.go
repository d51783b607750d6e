package partition

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/weirhq/weir/store"
)

const (
	latencyUnit = int64(time.Microsecond)
	latencyMax  = int64(24*time.Hour) / latencyUnit
)

// latencyEvery is how often run times are written, and so the most that a crash loses of them.
const latencyEvery = int64(time.Second)

// latency counts the run times of a step's tasks, in the buckets of [newLatency]. A histogram has 4 KiB of buckets,
// and most steps of small bulk actions have one task: so it holds no more than the buckets between the shortest and the
// longest time. The zero value is empty.
type latency struct {
	first  int // the bucket of counts[0]
	counts []int64
}

// newLatency returns the histogram that says where the buckets are. One significant digit is enough for a report.
func newLatency() *hdrhistogram.Histogram { return hdrhistogram.New(1, latencyMax, 1) }

// bucketBits is the size of a histogram with one significant digit: times with so many bits at most have a bucket each.
// Of larger ones the upper bits decide.
const bucketBits = 5

// bucketOf returns the bucket of a time, as the histogram counts them.
func bucketOf(t int64) int {
	shift := max(0, bits.Len64(uint64(t))-bucketBits)
	return shift<<(bucketBits-1) + int(t>>shift)
}

// record adds the run time of a task, in nanoseconds.
func (l *latency) record(service int64) {
	l.add(bucketOf(min(max(service, 0)/latencyUnit, latencyMax)), 1)
}

func (l *latency) add(bucket int, n int64) {
	switch {
	case l.counts == nil:
		l.first = bucket
	case bucket < l.first:
		l.counts = append(make([]int64, l.first-bucket), l.counts...)
		l.first = bucket
	}
	if more := bucket - l.first + 1 - len(l.counts); more > 0 {
		l.counts = append(l.counts, make([]int64, more)...)
	}
	l.counts[bucket-l.first] += n
}

// append packs the counts that are not zero: the number of zeros before each, and the count. The library's own format
// needs a compressor of 800 kB for every histogram, a thousand times what a small bulk action needs.
func (l *latency) append(dst []byte) []byte {
	skipped := uint64(l.first)
	for _, n := range l.counts {
		if n == 0 {
			skipped++
			continue
		}
		dst = binary.AppendUvarint(dst, skipped)
		dst = binary.AppendUvarint(dst, uint64(n))
		skipped = 0
	}
	return dst
}

// buckets is how many buckets there are.
var buckets = bucketOf(latencyMax) + 1

// decode is the inverse of append.
func (l *latency) decode(raw []byte) error {
	*l = latency{}
	at := uint64(0)
	for len(raw) > 0 {
		skipped, n := binary.Uvarint(raw)
		count, m := binary.Uvarint(raw[max(n, 0):])
		if n <= 0 || m <= 0 || skipped >= uint64(buckets)-at {
			return fmt.Errorf("latencies: %w: %d bytes do not read to their end", store.ErrCorrupt, len(raw))
		}
		l.add(int(at+skipped), int64(count))
		at += skipped + 1
		raw = raw[n+m:]
	}
	return nil
}

// histogram returns the run times for questions about them; nil if there are none.
func (l *latency) histogram() *hdrhistogram.Histogram {
	if l.counts == nil {
		return nil
	}
	s := newLatency().Export()
	copy(s.Counts[l.first:], l.counts)
	return hdrhistogram.Import(s)
}

// record adds the run time of a task to those of its step.
func (b *bulk) record(step int, service int64) {
	if b.latency == nil {
		b.latency = make([]latency, len(b.spec.Steps))
	}
	b.latency[step].record(service)
}

// latencyRows returns the rows of a bulk action's run times.
func (b *bulk) latencyRows() (rows []store.Row) {
	for i := range b.latency {
		if l := &b.latency[i]; l.counts != nil {
			rows = append(rows, seal(latencyKey(b.spec.ID, i), l.append(nil)))
		}
	}
	return rows
}
