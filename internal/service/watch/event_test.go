package watch

import (
	"testing"
	"time"

	"github.com/weirhq/weir/api"
)

func TestAMarkChangesWithWhatIsShownAndNotWithTime(t *testing.T) {
	p := api.Progress{State: api.Running, Counts: api.Counts{Total: 10, Ready: 10}, Steps: []api.StepProgress{{Step: "a"}}, WaitingOn: []api.Cause{}}
	base := markOf(&p, 0)
	if back, ok := parseMark(base.String()); !ok || back != base {
		t.Errorf("%v came back as %v, %v", base, back, ok)
	}
	for name, change := range map[string]func(*api.Progress){
		"state":   func(p *api.Progress) { p.State = api.Paused },
		"reason":  func(p *api.Progress) { p.Reason = "x" },
		"counts":  func(p *api.Progress) { p.Counts.Ready, p.Counts.InFlight = 9, 1 },
		"steps":   func(p *api.Progress) { p.Steps = []api.StepProgress{{Step: "a", Attempts: 1}} },
		"waiting": func(p *api.Progress) { p.WaitingOn = []api.Cause{{Reason: "rate"}} },
	} {
		other := p
		change(&other)
		if markOf(&other, 0) == base {
			t.Errorf("another %s has the same mark", name)
		}
	}
	later := p
	later.At, later.Rate, later.ETA = time.Now(), 5, 7
	if markOf(&later, 0) != base {
		t.Errorf("time alone changes the mark")
	}
	for _, bad := range []string{"", "7", "1.2.3", "a.b.c.d", "1.2.-3.00000000", "1.2.3.zz"} {
		if m, ok := parseMark(bad); ok {
			t.Errorf("%q was read as %v", bad, m)
		}
	}
}
