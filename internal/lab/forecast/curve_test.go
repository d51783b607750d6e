package forecast

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// TestTheCurveTellsWhoGetsWhatWhileTheWorkIsDone: of work that is played as it is, and of work that is drawn out.
func TestTheCurveTellsWhoGetsWhatWhileTheWorkIsDone(t *testing.T) {
	for _, items := range []int64{3_000, 3_000_000} {
		w := Work{Name: "spring", Tenant: "ours", Weight: 3, Items: items, Steps: []Step{{Name: "send", Resource: "send"}}}
		l := Load{
			Resources: []Resource{{Name: "send", Rate: weir.PerSecond(100), Service: 50 * time.Millisecond, Samples: 1000}},
			Others:    []Work{{Name: "winter", Tenant: "theirs", Items: 10 * items, Steps: on("send")}},
		}
		f, err := Of(w, l)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Workers) != 1 || f.Workers[0].Resource != "send" || f.Workers[0].Peak < 1 {
			t.Errorf("%d items: workers %+v", items, f.Workers)
		}
		c := f.Curve
		by := map[string]float64{}
		for _, p := range c.Points {
			for i, n := range p {
				by[c.Tenants[i]] += float64(n)
			}
		}
		if share := by["ours"] / (by["ours"] + by["theirs"]); by[""] != 0 || share < 0.65 || share > 0.85 {
			t.Errorf("%d items: %v, want about 3 to 1 for ours", items, by)
		}
		if long := c.Every * time.Duration(len(c.Points)); len(c.Points) > 200 || long < f.P50*8/10 || long > f.P50*13/10 {
			t.Errorf("%d items: %d points of %v are %v, and it takes %v", items, len(c.Points), c.Every, long, f.P50)
		}
	}
}
