package sim

import "testing"

func TestDump(t *testing.T) {
	if *oneSeed == 0 {
		return
	}
	p := drawPlan(*oneSeed)
	t.Logf("%+v", p)
	for _, n := range p.names {
		for _, s := range p.chains[n] {
			t.Logf("%s %+v", n, s)
		}
	}
}
