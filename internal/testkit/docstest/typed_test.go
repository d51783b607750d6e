package docstest

import (
	"fmt"
	"testing"
)

func TestCallsOfTheProgramInALine(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"a call", "weir lanes --watch", `[["weir" "lanes" "--watch"]]`},
		{"a comment is not part of it", "weir lanes   # all of them", `[["weir" "lanes"]]`},
		{"quotes keep blanks", `weir pin a --reason 'flash sale' "b c"`, `[["weir" "pin" "a" "--reason" "flash sale" "b c"]]`},
		{"two in a line", "weir simulate --show > mine.yaml && weir simulate mine.yaml", `[["weir" "simulate" "--show"] ["weir" "simulate" "mine.yaml"]]`},
		{"into another program", "weir list -o id | tail -n 1", `[["weir" "list" "-o" "id"]]`},
		{"in the background", "weir serve > weir.log 2>&1 & SERVER=$!", `[["weir" "serve"]]`},
		{"its output in a variable", "ID=$(weir submit users.csv -o id)", `[["weir" "submit" "users.csv" "-o" "id"]]`},
		{"with a variable of its own", "WEIR_SLOTS=8 weir serve", `[["weir" "serve"]]`},
		{"another program", "curl -s weir", `[]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fmt.Sprintf("%q", Commands(tt.line)); got != tt.want {
				t.Errorf("Commands(%s) = %s, want %s", tt.line, got, tt.want)
			}
		})
	}
}
