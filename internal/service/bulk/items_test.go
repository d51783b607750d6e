package bulk

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNamesOfItemsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, no := "ba_"+rapid.StringMatching(`[0-9a-z]{26}`).Draw(t, "id"), rapid.Int64Min(0).Draw(t, "no")
		b, n, err := ParseItemName(ItemName(id, no))
		if err != nil || b != id || n != no {
			t.Fatalf("%s, %d came back as %s, %d, %v", id, no, b, n, err)
		}
	})
	for _, bad := range []string{"", "itm_", "itm_x", "itm_x-", "itm_x--1", "itm_x-01", "itm_x-+1", "ba_x-1", "itm_x-1-2", "itm_x-99999999999999999999"} {
		if b, n, err := ParseItemName(bad); err == nil {
			t.Errorf("%q was read as %s, %d", bad, b, n)
		}
	}
}
