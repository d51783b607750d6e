package experiment

import (
	"testing"

	"github.com/weirhq/weir/internal/core/sched"
)

func TestUseIsOfTheTimeSinceTheBeginning(t *testing.T) {
	m := newMeter(10, 5*sec)
	m.count(6*sec, 30)
	if got := m.use(9 * sec); got != 0.75 {
		t.Errorf("use of 30 items in 4 s at 10/s = %v, want 0.75", got)
	}
}

func TestDriveTakesTheTimeOfTheWork(t *testing.T) {
	d := newDrive(sched.Options{Slots: 2}, 0)
	first := d.add(job{tenant: "a", items: 6, service: sec})
	late := d.add(job{tenant: "b", items: 1, service: sec, arrive: 10 * sec})
	ends := 0
	d.onEnd = func(*job) { ends++ }
	d.run(never / 4)
	if got := first.done - epoch; got != 3*sec {
		t.Errorf("6 tasks of 1 s on 2 slots took %d ns, want 3 s", got)
	}
	if got := late.done - epoch; got != 11*sec || ends != 2 {
		t.Errorf("the job that came after 10 s ended after %d ns, and %d ended; want 11 s and 2", got, ends)
	}
}
