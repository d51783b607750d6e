package docstest

import "testing"

func TestASectionIsFoundAndReplaced(t *testing.T) {
	const page = "# T\n\n<!-- begin a -->\nold\n<!-- end a -->\n\n<!-- begin b -->\n<!-- end b -->\nrest\n"
	for _, tt := range []struct{ name, section, was, with, want string }{
		{"one with text", "a", "old", "new\nlines", "# T\n\n<!-- begin a -->\nnew\nlines\n<!-- end a -->\n\n<!-- begin b -->\n<!-- end b -->\nrest\n"},
		{"an empty one", "b", "", "x", "# T\n\n<!-- begin a -->\nold\n<!-- end a -->\n\n<!-- begin b -->\nx\n<!-- end b -->\nrest\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := section(page, tt.section)
			if err != nil || got != tt.was {
				t.Errorf("section = %q, %v, want %q", got, err, tt.was)
			}
			if got := replace(page, tt.section, tt.with); got != tt.want {
				t.Errorf("replaced:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestAPartThatIsNotThereIsAnError(t *testing.T) {
	for _, page := range []string{"", "<!-- begin a -->\n", "<!-- end a -->"} {
		if _, err := section(page, "a"); err == nil {
			t.Errorf("no error for %q", page)
		}
	}
}
