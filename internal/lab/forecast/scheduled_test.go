package forecast

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// midnight is 3,000 items at 300/s, and others like it that start after some delays.
func midnight(delay time.Duration, others ...time.Duration) (Work, Load) {
	w := Work{Name: "a", Tenant: "a", Items: 3000, Steps: []Step{{Name: "send", Resource: "mail"}}, Delay: delay, Deadline: 15 * time.Second}
	l := Load{Resources: []Resource{{Name: "mail", Rate: 300, Service: 50 * ms, P99: 100 * ms, Samples: 10_000}}}
	for i, d := range others {
		name := string(rune('b' + i))
		l.Others = append(l.Others, Work{Name: name, Tenant: name, Items: 3000, Steps: on("mail"), Delay: d})
	}
	return w, l
}

func TestWorkThatStartsAtTheSameTimeCounts(t *testing.T) {
	for _, delay := range []time.Duration{time.Minute, 8 * time.Hour} {
		w, l := midnight(delay, delay, delay)
		f := of(t, w, l)
		near(t, "one of three", f.P50, 30*time.Second, 0.1)
		if f.Deadline != Missed {
			t.Errorf("in %v: the deadline %v", delay, f.Deadline)
		}
		if len(f.Clashes) != 1 || f.Clashes[0].Tenants != 2 || f.Clashes[0].Backlog != 6000 || !slices.Equal(f.Clashes[0].BulkActions, []string{"b", "c"}) {
			t.Errorf("in %v: clashes %+v", delay, f.Clashes)
		}
		if says := strings.Join(f.Assumptions, "\n"); !strings.Contains(says, "start before it ends: 2.") {
			t.Errorf("in %v: %s", delay, says)
		}
	}
}

func TestWorkThatStartsBeforeAndLaterCountsForWhatIsLeft(t *testing.T) {
	for _, tt := range []struct {
		name         string
		delay, other time.Duration
		want         time.Duration
		clash        bool
	}{
		{"long before", 8 * time.Hour, 7 * time.Hour, 10 * time.Second, false},
		{"just before", 8 * time.Hour, 8*time.Hour - 5*time.Second, 15 * time.Second, true},
		{"just before, soon", time.Minute, time.Minute - 5*time.Second, 15 * time.Second, true},
		{"meanwhile", 8 * time.Hour, 8*time.Hour + 5*time.Second, 15 * time.Second, true},
		{"meanwhile, now", 0, 5 * time.Second, 15 * time.Second, true},
		{"just after", 0, 13 * time.Second, 10 * time.Second, false},
		{"long after", 0, 90 * time.Hour, 10 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, l := midnight(tt.delay, tt.other)
			f := of(t, w, l)
			near(t, tt.name, f.P50, tt.want, 0.1)
			if clash := len(f.Clashes) > 0; clash != tt.clash {
				t.Errorf("clashes %+v", f.Clashes)
			}
		})
	}
}

// TestADayOfWorkMeetsWhatStartsOnTheNext: however late that is.
func TestADayOfWorkMeetsWhatStartsOnTheNext(t *testing.T) {
	w, l := midnight(0, 30*time.Hour)
	w.Items = 300 * 3600 * 40
	l.Others[0].Items = w.Items
	f := of(t, w, l)
	near(t, "forty hours", f.P50, 50*time.Hour, 0.1)
	if len(f.Clashes) != 1 {
		t.Errorf("clashes %+v", f.Clashes)
	}
}
