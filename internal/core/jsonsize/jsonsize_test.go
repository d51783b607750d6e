package jsonsize_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/core/jsonsize"
)

func TestParts(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"1", 0},
		{"{}", 2},
		{"[1]", 2},
		{"[1,2,3]", 4},
		{`{"a":1,"b":[{}]}`, 9},
		{`{"a,[{:\"[[[":"\\","b":"[[["}`, 5},
		{`"[[[`, 0},
		{`"\`, 0},
		{strings.Repeat("[", 1000), 102}, // it stops soon after 100
		{strings.Repeat("{},", 1000), 101},
	} {
		if got := jsonsize.Parts([]byte(tt.text), 100); got != tt.want {
			t.Errorf("Parts(%.40q) = %d, want %d", tt.text, got, tt.want)
		}
	}
}

func TestPartsAllocatesNothing(t *testing.T) {
	text := []byte(strings.Repeat(`{"a":["b",1]},`, 1000))
	if n := testing.AllocsPerRun(10, func() { jsonsize.Parts(text, 1<<30) }); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}
