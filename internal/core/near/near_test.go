package near

import "testing"

func TestTheWordThatWasMeant(t *testing.T) {
	known := []string{"award-reward", "send-message", "tier", "timeout", "name"}
	for _, tt := range []struct{ word, want string }{
		{"send-mesage", "send-message"},
		{"Send-Message", "send-message"},
		{"teir", "tier"},
		{"time_out", "timeout"},
		{"banana", ""},
		{"rate", ""}, // half of name
		{"", ""},
	} {
		if got := Word(tt.word, known); got != tt.want {
			t.Errorf("Word(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}

func TestDistances(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "", 3}, {"abc", "acb", 1}, {"abc", "xbc", 1}, {"kitten", "sitting", 3}} {
		if got, back := Distance(tt.a, tt.b), Distance(tt.b, tt.a); got != tt.want || back != tt.want {
			t.Errorf("Distance(%q, %q) = %d and back %d, want %d", tt.a, tt.b, got, back, tt.want)
		}
	}
}
