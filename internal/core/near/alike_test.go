package near

import "testing"

func TestWordsThatDifferInCaseAndPunctuationAreAlike(t *testing.T) {
	for _, tt := range []struct {
		word  string
		known []string
		want  string
	}{
		{"email", []string{"Name", "E-Mail"}, "E-Mail"},
		{"user_id", []string{"USER ID", "amount"}, "USER ID"},
		{"firstName", []string{"first_name"}, "first_name"},
		{"email", []string{"E-Mail", "email"}, "email"},
		{"email", []string{"E-Mail", "EMAIL"}, ""}, // either may be meant
		{"email", []string{"emails"}, ""},
		{"größe", []string{"Größe"}, "Größe"},
		{"-", []string{"_"}, ""},
	} {
		if got := Alike(tt.word, tt.known); got != tt.want {
			t.Errorf("Alike(%q, %q) = %q, want %q", tt.word, tt.known, got, tt.want)
		}
	}
}
