package own

import (
	"testing"
	"time"
)

// After the store was emptied, an owner announces itself as before until it notices. Another node must not conclude
// from that announcement that all is well, or it takes partitions whose leases the store has forgotten.
func TestWhatOthersAnnounceEndsNoDoubtOfAnEmptiedStore(t *testing.T) {
	const lease = 3 * time.Second
	start := time.Unix(1000, 0)
	cut := func(d *doubt) { d.ask(start.Add(2*time.Second), lease) } // no look for most of a lease
	emptied := func(d *doubt) { d.look(start.Add(500*time.Millisecond), start.UnixNano(), lease) }
	for _, tt := range []struct {
		name    string
		happens []func(*doubt)
		canEnd  bool
	}{
		{"cut off", []func(*doubt){cut}, true},
		{"the store was emptied", []func(*doubt){emptied}, false},
		{"emptied, and cut off then", []func(*doubt){emptied, cut}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d doubt
			d.look(start, 0, lease)
			for _, h := range tt.happens {
				h(&d)
			}
			now := start.Add(2100 * time.Millisecond)
			if !now.Before(d.until) {
				t.Fatal("the node is not in doubt")
			}
			if got := d.canEnd(now); got != tt.canEnd {
				t.Errorf("canEnd() = %v, want %v", got, tt.canEnd)
			}
		})
	}
}
