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

// BenchmarkDecideIdle is the common case: most lanes rest most of the time.
func BenchmarkDecideIdle(b *testing.B) {
	now, s, st := rested()
	for name, c := range map[string]Config{
		"plain":     {},
		"timetable": {Timetable: Timetable{{Day: time.Monday, At: 20 * time.Hour, Workers: 64}}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, st = Decide(now, s, st, c)
			}
		})
	}
}
