package term

import (
	"testing"
)

func TestOurOwnColoursStay(t *testing.T) {
	p := Paint(true)
	line := p.Red("failed") + " of " + p.Bold("12") + " 👨‍👩‍👧 naïve"
	if got := p.Tame(line); got != line {
		t.Errorf("tame(%q) = %q", line, got)
	}
	if got := p.Tame(p.Red("a\x1b[8mb\x1b[2Kc")); got != p.Red(`a\x1b[8mb\x1b[2Kc`) {
		t.Errorf("orders of others: %q", got)
	}
}
