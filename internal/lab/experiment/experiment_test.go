package experiment

import "testing"

// Every experiment, small: each line reaches its target, or the bound that is
// known to hold where it does not.
func TestEveryLineStands(t *testing.T) {
	for _, e := range All() {
		if e.Real {
			continue // a matter of the machine, not of the code: see package all
		}
		t.Run(e.ID, func(t *testing.T) {
			lines := e.Run(Small)
			if len(lines) == 0 {
				t.Error("it says nothing")
			}
			for _, l := range lines {
				t.Log(l)
				if !l.Stands() {
					t.Errorf("does not stand: %v", l)
				}
			}
		})
	}
}

func TestExperimentsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range All() {
		if seen[e.ID] || e.ID == "" || e.Name == "" || e.Run == nil {
			t.Errorf("experiment %+v is there twice or lacks something", e)
		}
		seen[e.ID] = true
	}
}
