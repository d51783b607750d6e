package execute

import (
	"net/http"
	"testing"
	"time"
)

func TestRefusedFor(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"nothing said", nil, 0},
		{"seconds", http.Header{"Retry-After": {"30"}}, 30 * time.Second},
		{"parts of a second", http.Header{"Retry-After": {" 1.5 "}}, 1500 * time.Millisecond},
		{"a duration", http.Header{"Retry-After": {"2m"}}, 2 * time.Minute},
		{"a date", http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:00:10 GMT"}}, 10 * time.Second},
		{"a date that is past", http.Header{"Retry-After": {"Sun, 01 Mar 2026 11:00:00 GMT"}}, 100 * time.Millisecond},
		{"0 does not cause a flood", http.Header{"Retry-After": {"0"}}, 100 * time.Millisecond},
		{"negative", http.Header{"Retry-After": {"-5"}}, 100 * time.Millisecond},
		{"an hour at most", http.Header{"Retry-After": {"999999999999999999999"}}, time.Hour},
		{"a date far away", http.Header{"Retry-After": {"Fri, 31 Dec 9999 23:59:59 GMT"}}, time.Hour},
		{"rubbish", http.Header{"Retry-After": {"soon"}}, 0},
		{"NaN", http.Header{"Retry-After": {"NaN"}}, 0},
		{"infinite", http.Header{"Retry-After": {"Inf"}}, 0},
		{"RateLimit of today", http.Header{"Ratelimit": {`"default";r=0;t=12`}}, 12 * time.Second},
		{"RateLimit of yesterday", http.Header{"Ratelimit": {"limit=100, remaining=0, reset=7"}}, 7 * time.Second},
		{"RateLimit-Reset", http.Header{"Ratelimit-Reset": {"4"}}, 4 * time.Second},
		{"RateLimit-Reset that is a time of day", http.Header{"Ratelimit-Reset": {"1772366400"}}, 0},
		{"Retry-After goes first", http.Header{"Retry-After": {"3"}, "Ratelimit-Reset": {"4"}}, 3 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := refusedFor(tt.header, noon); got != tt.want {
				t.Errorf("refusedFor(%v) = %v, want %v", tt.header, got, tt.want)
			}
		})
	}
}
