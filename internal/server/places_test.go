package server

import (
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

func TestPlacesKnowTheLineOfEachItem(t *testing.T) {
	var p places
	lines := []int{2, 3, 4, 7, 8, 20, 20, 21}
	for _, line := range lines {
		p.add(line)
	}
	for i, want := range lines {
		if got := p.line(int64(i) + 1); got != int64(want) {
			t.Errorf("item %d is on line %d, want %d", i+1, got, want)
		}
	}
	for _, none := range []int64{0, -1, 9} {
		if got := p.line(none); got != 0 {
			t.Errorf("item %d is on line %d, want none", none, got)
		}
	}
}

func TestPlacesForgetRatherThanGrow(t *testing.T) {
	var p places
	for i := range 2 * maxRuns {
		p.add(2 * i)
	}
	if len(p.runs) > maxRuns {
		t.Errorf("%d runs are kept, want at most %d", len(p.runs), maxRuns)
	}
	if first, last := p.line(3), p.line(2*maxRuns); first != 4 || last != 0 {
		t.Errorf("lines %d and %d, want 4 and none", first, last)
	}
	e := &weir.DuplicateError{ID: strings.Repeat("x", 200), Item: 2 * maxRuns, First: 3}
	if p := ofTwiceAt(e, &p); !strings.Contains(p.Detail, "items[131071].id") || len(p.Errors[0].Value) > 64 {
		t.Errorf("problem %+v", p)
	}
}

func TestAConflictNamesWhatDiffers(t *testing.T) {
	before := &remembered{Route: "bulk_action.create", Fields: map[string]string{" path": "p", "name": "1", "steps": "2", "tier": "3"}}
	for _, tt := range []struct {
		name string
		now  map[string]string
		want string
	}{
		{"a field differs", map[string]string{" path": "p", "name": "9", "steps": "2", "tier": "3"}, ": name differs"},
		{"a field more, a field less", map[string]string{" path": "p", "name": "1", "steps": "2", "zone": "3"}, ": tier and zone differ"},
		{"only blanks differ", before.Fields, "not the same byte for byte"},
		{"another route", map[string]string{" path": "q"}, "used for another request (bulk_action.create)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if p := conflict("k", before, tt.now); !strings.Contains(p.Detail, tt.want) {
				t.Errorf("conflict: %s, want %s", p.Detail, tt.want)
			}
		})
	}
}
