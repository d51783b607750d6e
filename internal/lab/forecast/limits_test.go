package forecast

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// The bottleneck is the limit that is reached first, with its owner.
func TestTheBottleneckSaysWhoseLimitItIs(t *testing.T) {
	for _, tt := range []struct {
		name                string
		rate, own           weir.Rate // of the resource, and of the work itself
		concurrency, tenant int
		want                Bottleneck
		least, most         time.Duration
	}{
		{"the resource's rate", 100, 0, 0, 0, Bottleneck{ByRate, "api", "100/s", ""}, 90 * time.Second, 110 * time.Second},
		{"its own rate", 100, 20, 0, 0, Bottleneck{ByRate, "api", "20/s", OfBulkAction}, 450 * time.Second, 550 * time.Second},
		{"its own concurrency", 100, 0, 1, 0, Bottleneck{ByConcurrency, "api", "1 at once", OfBulkAction}, 900 * time.Second, 1200 * time.Second},
		{"its tenant's", 100, 0, 0, 2, Bottleneck{ByConcurrency, "api", "2 at once", OfTenant}, 450 * time.Second, 600 * time.Second},
		{"the lower of two", 100, 0, 4, 2, Bottleneck{ByConcurrency, "api", "2 at once", OfTenant}, 450 * time.Second, 600 * time.Second},
		{"its own rate below its concurrency", 100, 5, 20, 40, Bottleneck{ByRate, "api", "5/s", OfBulkAction}, 1900 * time.Second, 2200 * time.Second},
		{"limits that are never reached", 100, 900, 60, 60, Bottleneck{ByRate, "api", "100/s", ""}, 90 * time.Second, 110 * time.Second},
		{"without a rate of the resource", 0, 0, 2, 0, Bottleneck{ByConcurrency, "api", "2 at once", OfBulkAction}, 450 * time.Second, 600 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := Work{Tenant: "crm", Items: 10_000, Concurrency: tt.concurrency, MaxTasks: tt.tenant,
				Steps: []Step{{Name: "send", Resource: "api", Batch: 10, Rate: tt.own}}}
			l := Load{Resources: []Resource{{Name: "api", Rate: tt.rate, Pacing: weir.PacingFull, Service: time.Second, P99: 1200 * ms, Samples: 1000}}}
			f := of(t, w, l)
			if f.Bottleneck != tt.want {
				t.Errorf("the bottleneck is %+v, want %+v", f.Bottleneck, tt.want)
			}
			if f.P50 < tt.least || f.P50 > tt.most {
				t.Errorf("it takes %v, want %v to %v", f.P50, tt.least, tt.most)
			}
		})
	}
}
