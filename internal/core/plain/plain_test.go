package plain

import "testing"

func TestTextIsCleanedOfWhatGivesOrders(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "no such user: Zoë, 山田 – 50 %", "no such user: Zoë, 山田 – 50 %"},
		{"right to left without overrides", "שלום", "שלום"},
		{"an escape sequence", "\x1b[2Jgone", "\ufffd[2Jgone"},
		{"C1", "a\u009b2Jb\u0085c", "a\ufffd2Jb\ufffdc"},
		{"NUL and DEL", "a\x00b\x7fc", "a\ufffdb\ufffdc"},
		{"overrides and isolates", "a\u202egpj.exe\u202c\u2066x\u2069", "a\ufffdgpj.exe\ufffd\ufffdx\ufffd"},
		{"lines and tabs", "a\nb\tc\r", "a b c "},
		{"not UTF-8", "a\xffb", "a\ufffdb"},
	} {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNamesRefuseControlsAndOverridesOfDirection(t *testing.T) {
	for _, r := range "\x00\n\x1b\x7f\u0080\u009b\u202a\u202e\u2066\u2069\ufffd" {
		if !Refused(r) {
			t.Errorf("%U is not refused", r)
		}
	}
	for _, r := range " ~\u00a0é\u2013\u200dש山" {
		if Refused(r) {
			t.Errorf("%U is refused", r)
		}
	}
}
