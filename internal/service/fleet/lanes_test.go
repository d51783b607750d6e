package fleet

import (
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
)

func TestABulkActionHasTheDecisionsOfItsTime(t *testing.T) {
	at := func(sec int64) time.Time { return time.Unix(sec, 0) }
	for _, tt := range []struct {
		name     string
		from, to time.Time
		want     []int64
	}{
		{"it runs", at(25), time.Time{}, []int64{50, 40, 30, 20}},
		{"it has ended: what was decided later is not about it", at(25), at(40), []int64{40, 30, 20}},
		{"it began before the first", at(5), at(30), []int64{30, 20, 10}},
		{"nothing was decided in its time", at(41), at(49), []int64{40}},
		{"it ended before the first", at(5), at(7), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var list []api.Decision
			for _, sec := range []int64{50, 40, 30, 20, 10} {
				list = append(list, api.Decision{At: at(sec)})
			}
			var got []int64
			for _, d := range duringRun(list, tt.from, tt.to) {
				got = append(got, d.At.Unix())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("decisions at %v, want %v", got, tt.want)
			}
		})
	}
}
