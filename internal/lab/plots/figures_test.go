package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/lab/experiment"
)

// docs is where make plots writes to.
var docs = filepath.Join("..", "..", "..", "docs")

// drawn computes the figures once for all tests: it takes seconds.
var drawn = sync.OnceValue(all)

func TestEveryFigureShowsWhatItsTitleSays(t *testing.T) {
	for _, f := range drawn() {
		t.Run(f.name, func(t *testing.T) {
			if len(f.claims) == 0 {
				t.Error("the title is tied to no data: add claims")
			}
			if err := f.holds(); err != nil {
				t.Error(err)
			}
			for _, words := range f.Crowded() {
				t.Error(words)
			}
			for _, row := range f.table {
				if len(row) != len(f.table[0]) {
					t.Errorf("the table has a row of %d cells, want %d: %q", len(row), len(f.table[0]), row)
				}
			}
			if len(f.table) < 2 {
				t.Error("the table has no values")
			}
		})
	}
}

func TestEveryFigureIsPublished(t *testing.T) {
	var want []string
	for _, f := range drawn() {
		want = append(want, f.name+".svg")
		svg, err := os.ReadFile(filepath.Join(docs, "plots", f.name+".svg"))
		if err != nil {
			t.Errorf("run make plots: %v", err)
			continue
		}
		if now := f.SVG(); !bytes.Equal(comparable(svg), comparable(now)) {
			t.Errorf("docs/plots/%s.svg is not what is drawn now: run make plots", f.name)
		}
	}
	var got []string
	files, err := os.ReadDir(filepath.Join(docs, "plots"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		got = append(got, f.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("docs/plots has %q, want %q", got, want)
	}
}

// paths are the drawing within an SVG file.
var paths = regexp.MustCompile(` d="[^"]*"`)

// comparable returns what is the same on every machine: other processors round the last digit of a product in another
// way, which may move a line, but changes no word.
func comparable(svg []byte) []byte {
	if runtime.GOARCH == "amd64" {
		return svg
	}
	return paths.ReplaceAll(svg, nil)
}

func TestThePageHasEveryFigureWithItsValues(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(docs, "plots.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range drawn() {
		if !bytes.Contains(page, []byte("](plots/"+f.name+".svg)")) {
			t.Errorf("docs/plots.md does not show %s", f.name)
		}
	}
	want, err := withTables(string(page), drawn())
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != want {
		t.Error("docs/plots.md does not have the values of the figures: run make plots")
	}
}

func TestAPageWithoutAPlaceForValuesIsAnError(t *testing.T) {
	f := figure{name: "f", table: [][]string{{"policy", "turns"}, {"depth", "3"}}}
	page := "# P\n<!-- values of f -->\nold\n<!-- end of values -->\nrest\n"
	got, err := withTables(page, []figure{f})
	if err != nil || strings.Contains(got, "old") || !strings.Contains(got, "| depth | 3 |") || !strings.HasSuffix(got, "\nrest\n") {
		t.Errorf("withTables = %q, %v", got, err)
	}
	if again, err := withTables(got, []figure{f}); err != nil || again != got {
		t.Errorf("a second run changes the page: %q, %v", again, err)
	}
	if _, err := withTables("# P\n", []figure{f}); err == nil {
		t.Error("no error for a page without a place")
	}
}

func TestEveryLoadIsDrawnOrLeftOutForAReason(t *testing.T) {
	leftOut := map[string]string{
		"slow-strained":   "slow, seen as in crowded",
		"incident":        "figure incident shows it with the whole core",
		"cpu":             "step, with a full node",
		"memory":          "step, with a full node",
		"choked":          "step, with a full node",
		"leader-ramp":     "step, and nothing is seen of the new leader",
		"leader-full":     "constant, and nothing is seen of the new leader",
		"leader-incident": "incident-alone, and nothing is seen of the new leader",
	}
	drawn := map[string]bool{}
	for _, l := range allLoads() {
		drawn[l.key] = true
	}
	for _, shape := range experiment.ScalingShapes() {
		if drawn[shape] == (leftOut[shape] != "") {
			t.Errorf("shape %s: drawn %v, reason to leave it out %q: want one of them", shape, drawn[shape], leftOut[shape])
		}
	}
}

func TestAClaimThatDoesNotHoldIsAnError(t *testing.T) {
	f := figure{name: "f", Figure: chart.Figure{Title: "up"}, claims: []claim{{"it grows", true}, {"it lasts", false}}}
	err := f.holds()
	if err == nil || !strings.Contains(err.Error(), "it lasts") || strings.Contains(err.Error(), "it grows") {
		t.Errorf("holds() = %v, want an error that names the claim that fails, and no other", err)
	}
}

func TestSmoothIsTheMeanOfWhatWas(t *testing.T) {
	points := []chart.XY{{X: 0, Y: 3}, {X: 1, Y: 5}, {X: 2, Y: 7}}
	want := []chart.XY{{X: 0, Y: 3}, {X: 1, Y: 4}, {X: 2, Y: 6}}
	if got := smooth(points, 2); !slices.Equal(got, want) {
		t.Errorf("smooth = %v, want %v", got, want)
	}
}
