package words

import (
	"math"
	"testing"
	"time"
)

func TestCountsAndSpansAreWrittenForPeople(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Items(1), "1 item"}, {Items(0), "0 items"}, {Items(12004), "12,004 items"}, {Count(1234567), "1,234,567"},
		{Count(-999), "-999"}, {Count(-1000), "-1,000"},
		{Span(45 * time.Second), "45 s"}, {Span(61 * time.Second), "1 min 1 s"}, {Span(time.Hour), "1 h"},
		{Span(599_000 * time.Second), "6 days 22 h"}, {Span(24 * time.Hour), "1 day"}, {Span(366 * 24 * time.Hour), "1 year 1 day"},
		{Span(math.MaxInt64), "292 years 171 days"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
