package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/lab/experiment"
)

// published is where make plots writes to.
var published = filepath.Join("..", "..", "docs", "plots")

func TestEveryFigureShowsWhatItsTitleSays(t *testing.T) {
	for _, f := range all() {
		t.Run(f.name, func(t *testing.T) {
			if len(f.claims) == 0 {
				t.Error("the title is tied to no data: add claims")
			}
			if err := f.holds(); err != nil {
				t.Error(err)
			}
			for _, text := range []struct {
				words string
				width float64
			}{
				{f.title, titleText().Width(f.title).Points()},
				{f.note, noteText().Width(f.note).Points()},
			} {
				// Where the font is not there, the next one is a tenth wider.
				if room := (width - 2*margin).Points() / 1.1; text.width > room {
					t.Errorf("%q is %.0f points wide, want at most %.0f", text.words, text.width, room)
				}
			}
		})
	}
}

func TestEveryFigureIsPublished(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "plots.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range all() {
		want = append(want, f.name+".png", f.name+".svg")
		svg, err := os.ReadFile(filepath.Join(published, f.name+".svg"))
		if err != nil {
			t.Errorf("run make plots: %v", err)
			continue
		}
		if got, err := titleOf(svg); err != nil || got != f.title {
			t.Errorf("%s.svg has the title %q, %v, want %q: run make plots", f.name, got, err, f.title)
		}
		checkPNG(t, filepath.Join(published, f.name+".png"))
		if !bytes.Contains(page, []byte("plots/"+f.name+".svg")) || !bytes.Contains(page, []byte("plots/"+f.name+".png")) {
			t.Errorf("docs/plots.md does not show %s", f.name)
		}
	}
	var got []string
	files, err := os.ReadDir(published)
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

func TestTheSameFigureIsTheSameFile(t *testing.T) {
	draw := func() (svg, png []byte) {
		t.Helper()
		svg, png, err := allLoads()[0].figure().draw()
		if err != nil {
			t.Fatal(err)
		}
		return svg, png
	}
	svg1, png1 := draw()
	svg2, png2 := draw()
	if !bytes.Equal(svg1, svg2) || !bytes.Equal(png1, png2) {
		t.Error("two drawings of the same figure differ")
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
	f := figure{name: "f", title: "up", claims: []claim{{"it grows", true}, {"it lasts", false}}}
	err := f.holds()
	if err == nil || !strings.Contains(err.Error(), "it lasts") || strings.Contains(err.Error(), "it grows") {
		t.Errorf("holds() = %v, want an error that names the claim that fails, and no other", err)
	}
}

// titleOf reads a whole SVG file and returns its title.
func titleOf(svg []byte) (title string, err error) {
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return title, nil
		}
		if err != nil {
			return "", err
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "title" {
			if err := d.DecodeElement(&title, &e); err != nil {
				return "", err
			}
		}
	}
}

func checkPNG(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Errorf("run make plots: %v", err)
		return
	}
	defer f.Close()
	i, err := png.Decode(f)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if w := i.Bounds().Dx(); w < 800 {
		t.Errorf("%s is %d pixels wide, want at least 800", name, w)
	}
}
