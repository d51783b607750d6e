package format_test

import (
	"testing"

	"github.com/weirhq/weir/internal/dashboard/format"
)

func TestATextEndsOnce(t *testing.T) {
	for _, tt := range []struct{ text, stop, clause string }{
		{"", "", ""},
		{"out of stock", "out of stock.", "out of stock"},
		{"Out of stock.", "Out of stock.", "Out of stock"},
		{"Out of stock. ", "Out of stock.", "Out of stock"},
		{"Really?", "Really?", "Really?"},
		{"and so on…", "and so on…", "and so on…"},
		{"and so on..", "and so on..", "and so on"},
	} {
		if stop, clause := format.Stop(tt.text), format.Clause(tt.text); stop != tt.stop || clause != tt.clause {
			t.Errorf("%q: Stop %q, want %q; Clause %q, want %q", tt.text, stop, tt.stop, clause, tt.clause)
		}
	}
}
