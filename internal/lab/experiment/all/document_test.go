package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/lab/experiment"
)

var today = time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)

func TestRows(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    experiment.Experiment
		l    experiment.Line
		want string
	}{
		{
			"a target that is reached",
			experiment.Experiment{ID: "E1"},
			experiment.Line{Target: 3, What: "use", Got: 99.5, Want: 99, AtLeast: true, Unit: " %"},
			"| E1 | #3 | use | 99.5 % | ≥ 99 % | reached |",
		},
		{
			"one that is missed has its reason",
			experiment.Experiment{ID: "E1"},
			experiment.Line{Target: 3, What: "a|b", Got: 2, Want: 1, Missed: "too far"},
			"| E1 | #3 | a/b | 2 | ≤ 1 | **missed**: too far |",
		},
		{
			"a figure of the machine has its date",
			experiment.Experiment{ID: "E3", Real: true},
			experiment.Line{Target: 3, What: "use", Got: 1, Want: 1},
			"| E3 | #3 | use | 1 (2026-02-03) | ≤ 1 | reached |",
		},
		{
			"so has a line that was timed",
			experiment.Experiment{ID: "E15"},
			experiment.Line{Target: 17, What: "pause", Got: 80, Want: 150, Unit: " ns", Timed: true},
			"| E15 | #17 | pause | 80 ns (2026-02-03) | ≤ 150 ns | reached |",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := row(tt.e, tt.l, today); got != tt.want {
				t.Errorf("row = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOtherExperimentsKeepTheirRows(t *testing.T) {
	text := "# Words\n" + begin + "\n" + header + "| E1 | old one |\n| E2 | old two |\n| E9 | gone from the list |\n" + end + "\nmore words\n"
	got, err := renew(text, []string{"E1", "E2", "E3"}, map[string][]string{"E2": {"| E2 | new |"}, "E3": {"| E3 | first |"}})
	want := "# Words\n" + begin + "\n" + header + "| E1 | old one |\n| E2 | new |\n| E3 | first |\n" + end + "\nmore words\n"
	if err != nil || got != want {
		t.Errorf("renew = %q, %v; want %q", got, err, want)
	}
	again, err := renew(got, []string{"E1", "E2", "E3"}, nil)
	if err != nil || again != got {
		t.Errorf("a second time without rows changes it to %q, %v", again, err)
	}
}

func TestADocumentWithoutMarksIsRefused(t *testing.T) {
	if _, err := renew("# Words\n"+begin, nil, nil); err == nil || !strings.Contains(err.Error(), end) {
		t.Errorf("error = %v, want one that names the mark", err)
	}
}

func TestChoose(t *testing.T) {
	all := []experiment.Experiment{{ID: "E1"}, {ID: "E2"}, {ID: "E3", Real: true}}
	for _, tt := range []struct {
		name, only, want string
	}{
		{"all but those in real time", "", "E1 E2"},
		{"one in real time, by its name", "E3", "E3"},
		{"several", "E2, E1", "E2 E1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := choose(all, tt.only)
			if ids := strings.Join(order(got), " "); err != nil || ids != tt.want {
				t.Errorf("choose(%q) = %s, %v; want %s", tt.only, ids, err, tt.want)
			}
		})
	}
	if _, err := choose(all, "E7"); err == nil || !strings.Contains(err.Error(), "E1, E2, E3") {
		t.Errorf("error for an unknown name = %v, want one that lists the known", err)
	}
}

func TestLinesThatDoNotStandAreCounted(t *testing.T) {
	lines := []experiment.Line{{Got: 2, Want: 1}, {Got: 2, Want: 1, Missed: "known", Holds: 3}, {Got: 1, Want: 1}}
	rows, bad := run(io.Discard, []experiment.Experiment{{ID: "E1", Run: func(experiment.Size) []experiment.Line { return lines }}}, experiment.Small, today)
	if bad != 1 || len(rows["E1"]) != 3 {
		t.Errorf("%d lines do not stand and %d rows, want 1 and 3", bad, len(rows["E1"]))
	}
}
