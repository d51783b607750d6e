package partition

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// Processes that are killed every 0.7 s, each while the item runs or could, blame
// it for nothing. An item that really ends its process is found guilty.
func TestItemsOfProcessesKilledInQuickSuccessionAreNotGuilty(t *testing.T) {
	for _, tt := range []struct {
		name   string
		every  time.Duration // how long each process lives; 0: until the item has run
		failed int64
	}{
		{"killed from outside", 700 * time.Millisecond, 0},
		{"it ends its process", 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.chains["c"] = []weir.Step{{Name: "award", Action: "award", BatchSize: 1, Resource: weir.Resource{Name: "r"}, Retry: weir.Backoff{MaxAttempts: 3}}}
			b.message(envelope{Created: &Created{ID: "A", Tenant: "t", Chain: "c", Steps: []string{"award"}, Items: 1, Submitted: b.now}})
			for life := range 20 {
				b.node = fmt.Sprint("node-", life)
				b.reload()
				end := b.now + int64(tt.every)
				for started := len(b.settle()); b.now < end || tt.every == 0 && started == 0 && b.m.Pending() > 0; started += len(b.settle()) {
					b.now += int64(50 * time.Millisecond)
				}
			}
			if _, s, err := ReadStatus(b.rows, "A"); err != nil || s.Failed != tt.failed {
				t.Errorf("%d items failed, want %d; %v", s.Failed, tt.failed, err)
			}
		})
	}
}
