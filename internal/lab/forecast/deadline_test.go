package forecast

import (
	"testing"
	"time"
)

// Work that has to be done soon goes before other work of its tenant, and a forecast of
// either knows that.
func TestDeadlinesAreKeptInsideATenant(t *testing.T) {
	load := func(others ...Work) Load {
		return Load{Others: others, Resources: []Resource{{Name: "mail", Rate: 300, Service: 50 * ms, P99: 100 * ms, Samples: 10_000}}}
	}
	work := func(items int64, deadline time.Duration) Work {
		return Work{Name: "work", Tenant: "a", Items: items, Steps: []Step{{Name: "send", Resource: "mail"}}, Deadline: deadline}
	}
	var small []Work
	for _, name := range []string{"b", "c", "d", "e", "f"} {
		small = append(small, Work{Name: name, Tenant: "a", Items: 3000, Steps: on("mail")})
	}
	if f := of(t, work(6000, 0), load(small...)); f.P50 < 60*time.Second {
		t.Errorf("p50 %v without a deadline: smaller work goes first", f.P50)
	}
	if f := of(t, work(6000, 25*time.Second), load(small...)); f.P50 > 25*time.Second || f.Deadline == Missed {
		t.Errorf("p50 %v, deadline of 25 s %s: it is met, because the work goes first", f.P50, f.Deadline)
	}
	if f := of(t, work(6000, 5*time.Second), load(small...)); f.P50 < 60*time.Second || f.Deadline != Missed {
		t.Errorf("p50 %v, deadline of 5 s for 20 s of work %s", f.P50, f.Deadline)
	}
	soon := Work{Name: "soon", Tenant: "a", Items: 6000, Steps: on("mail"), Deadline: 25 * time.Second}
	if f := of(t, work(3000, 0), load(soon)); f.P50 < 18*time.Second {
		t.Errorf("p50 %v beside work of the tenant that has to be done first", f.P50)
	}
}
