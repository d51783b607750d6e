package planted

import "testing"

func TestEveryBugHasANameOfItsOwn(t *testing.T) {
	seen := map[string]Bug{}
	for _, b := range All() {
		name := b.String()
		if other, taken := seen[name]; taken || name == "" {
			t.Errorf("bug %d is called %q, as is %d", b, name, other)
		}
		seen[name] = b
	}
}

func TestNoBugIsSwitchedOnByItself(t *testing.T) {
	for _, b := range All() {
		if Is(b) {
			t.Errorf("%v is switched on", b)
		}
	}
}
