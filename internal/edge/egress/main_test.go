package egress

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// allow reads a list that has to be right.
func allow(t *testing.T, entries ...string) []Rule {
	t.Helper()
	rules, err := ParseAllow("egress.allow", entries)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
