package watch

import (
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/outlook"
)

func TestARangeIsAroundTheLikelyEndAndNotBeforeWhatTheLimitsAllow(t *testing.T) {
	const min = time.Minute
	for _, tt := range []struct {
		name             string
		left             outlook.Left
		least            time.Duration
		likely, from, to time.Duration // 0: not told
	}{
		{"a certain end", outlook.Left{Likely: 10 * min}, 0, 10 * min, 0, 0},
		{"an uncertain one", outlook.Left{Likely: 10 * min, From: 8 * min, To: 13 * min}, 0, 10 * min, 8 * min, 13 * min},
		{"not before the limits allow", outlook.Left{Likely: 10 * min, From: 8 * min, To: 13 * min}, 9 * min, 10 * min, 9 * min, 13 * min},
		{"limits allow it later than all of that", outlook.Left{Likely: 10 * min, From: 8 * min, To: 13 * min}, 20 * min, 20 * min, 20 * min, 20 * min},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := api.Progress{ETA: api.Duration(tt.left.Likely)}
			before := time.Now()
			ends(&out, tt.left, tt.least)
			for _, end := range []struct {
				name string
				at   time.Time
				want time.Duration
			}{{"likely_end", out.LikelyEnd, tt.likely}, {"likely_end_from", out.LikelyEndFrom, tt.from}, {"likely_end_to", out.LikelyEndTo, tt.to}} {
				if end.want == 0 {
					if !end.at.IsZero() {
						t.Errorf("%s is told: %v", end.name, end.at)
					}
					continue
				}
				if want := before.Add(end.want); end.at.Before(want.Add(-2*time.Second)) || end.at.After(time.Now().Add(end.want)) {
					t.Errorf("%s = %v, want %v", end.name, end.at, want)
				}
			}
		})
	}
}
