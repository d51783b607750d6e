package scale

import (
	"testing"
	"time"
)

func BenchmarkDecide(b *testing.B) {
	now, s, st := settled()
	b.ReportAllocs()
	for b.Loop() {
		_, st = Decide(now, s, st, Config{})
		now += int64(time.Second)
	}
}
