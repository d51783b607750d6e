package service

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNamesOfItemsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bulk, no := "ba_"+rapid.StringMatching(`[0-9a-z]{26}`).Draw(t, "id"), rapid.Int64Min(0).Draw(t, "no")
		b, n, err := ParseItemName(ItemName(bulk, no))
		if err != nil || b != bulk || n != no {
			t.Fatalf("%s, %d came back as %s, %d, %v", bulk, no, b, n, err)
		}
	})
	for _, bad := range []string{"", "itm_", "itm_x", "itm_x-", "itm_x--1", "itm_x-01", "itm_x-+1", "ba_x-1", "itm_x-1-2", "itm_x-99999999999999999999"} {
		if b, n, err := ParseItemName(bad); err == nil {
			t.Errorf("%q was read as %s, %d", bad, b, n)
		}
	}
}

func TestAStepThatADeadlineCutWasNotLeftOut(t *testing.T) {
	for _, c := range []struct {
		state   string
		leftOut bool
		want    string
	}{
		{"done", false, "done"}, {"failed", false, "failed"}, {"skipped", false, "skipped"},
		{"cancelled", true, "left_out"}, {"cancelled", false, "cancelled"},
		{"ready", false, "pending"}, {"waiting", false, "pending"},
	} {
		if got := resultWord(c.state, c.leftOut); got != c.want {
			t.Errorf("%s, left out %v: %q, want %q", c.state, c.leftOut, got, c.want)
		}
	}
}
