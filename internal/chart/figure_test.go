package chart

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func two() *Figure {
	p := Panel{
		Title: "a < b", X: UpTo("seconds", 60), Y: Around("items/s", 2000), Note: "at most 2,000",
		Layers: []Layer{
			Line{Colour: Running, Points: []XY{{0, 0}, {60, 2000}}},
			Band{Trouble, 15, 30},
			Line{Colour: Done, Points: []XY{{0, 1000}, {30, 2000}, {60, 2000}}, Stairs: true, Dashed: true},
			Area{Behind, []XY{{0, 1000}, {60, 1000}}},
			Label{X: 60, Y: 1000, Text: "limit", Colour: Second, Left: true, Above: true},
		},
	}
	return &Figure{
		Title: "Up & away", Note: "A setting.", Legend: []Key{{Colour: Running, Text: "line"}, {Colour: Behind, Area: true, Text: "area"}},
		Columns: 2, Height: 100, Panels: []Panel{p, p, p},
	}
}

func TestAFigureIsCompleteInItself(t *testing.T) {
	f := two()
	got := string(f.SVG())
	wellFormed(t, got)
	for _, want := range []string{
		`<title id="t">Up &amp; away</title>`, `<desc id="d">A setting.</desc>`, `aria-labelledby="t d"`,
		`@media(prefers-color-scheme:dark)`, `>a &lt; b</text>`, `>2,000</text>`, `>seconds</text>`, `>items/s</text>`,
		`class="l dashed done"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s:\n%s", want, got)
		}
	}
	if strings.Index(got, `class="f failed-soft"`) > strings.Index(got, `class="thin line"`) {
		t.Error("a band is in front of the grid")
	}
	if strings.Contains(got, "var(") {
		t.Error("colours are variables, which only browsers know")
	}
	if crowded := f.Crowded(); len(crowded) > 0 {
		t.Errorf("crowded: %q", crowded)
	}
}

func TestWordsThatRunIntoOthersAreFound(t *testing.T) {
	for name, change := range map[string]func(*Figure){
		"two labels at one place": func(f *Figure) {
			f.Panels[0].Layers = append(f.Panels[0].Layers, Label{X: 58, Y: 1000, Text: "here", Left: true, Above: true})
		},
		"a note that is as long as its panel": func(f *Figure) { f.Panels[0].Note = strings.Repeat("at most ", 10) },
		"a legend below a panel that leaves it": func(f *Figure) {
			f.Panels[0].Legend = []Key{{Colour: Done, Text: strings.Repeat("area ", 16)}}
			f.Panels[1].Legend = []Key{{Colour: Done, Text: "beside"}}
		},
		"a legend that leaves the picture": func(f *Figure) { f.Legend[1].Text = strings.Repeat("area ", 40) },
	} {
		t.Run(name, func(t *testing.T) {
			f := two()
			change(f)
			if len(f.Crowded()) == 0 {
				t.Error("nothing is found")
			}
		})
	}
}

func TestALongTitleHasTwoLines(t *testing.T) {
	f := two()
	f.Title = strings.Repeat("words ", 40)
	if got := strings.Count(string(f.SVG()), `class="h1 ink"`); got < 2 {
		t.Errorf("%d lines, want 2 or more", got)
	}
	if crowded := f.Crowded(); len(crowded) > 0 {
		t.Errorf("crowded: %q", crowded)
	}
}

// The pages have their colours in a style sheet, and files have to carry their own: they stay the same.
func TestFiguresHaveTheColoursOfThePages(t *testing.T) {
	sheet, err := os.ReadFile("../dashboard/assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range theme {
		name := string(s.name)
		if s.name == Running {
			name = "accent" // which running is, there
		}
		if want := "--" + name + ": light-dark(" + s.light + ", " + s.dark + ");"; !strings.Contains(string(sheet), want) {
			t.Errorf("the style sheet of the pages lacks %q", want)
		}
	}
}

func TestTicksAreFewAndRound(t *testing.T) {
	for _, tt := range []struct {
		name string
		axis Axis
		want []string
	}{
		{"a maximum that is a tick", Around("workers", 400), []string{"0", "200", "400"}},
		{"above a maximum that is a tick", Above("workers", 400), []string{"0", "200", "400", "600"}},
		{"up to just below a hundred", UpTo("workers", 98.75), []string{"0", "20", "40", "60", "80"}},
		{"a maximum that is not round", UpTo("seconds", 1600), []string{"0", "500", "1,000", "1,500"}},
		{"fractions", UpTo("seconds", 0.6), []string{"0", "0.2", "0.4", "0.6"}},
		{"powers of ten", Axis{From: 20, To: 10_240, Log: true}, []string{"100", "1,000", "10,000"}},
		{"names", Axis{Names: []string{"closed", "open"}}, []string{"closed", "open"}},
		{"a range that begins elsewhere", Axis{From: -1, To: 5, Every: 2}, []string{"0", "2", "4"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, tick := range tt.axis.ticks() {
				got = append(got, tick.label)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("ticks = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestThinKeepsCornersEndsAndPeaks(t *testing.T) {
	r := route{scale{to: 10, end: 10}, scale{to: 10, start: 10}, 10}
	for _, tt := range []struct {
		name         string
		points, want []XY
	}{
		{"values that last", []XY{{0, 1}, {1, 1}, {2, 1}, {3, 5}, {4, 5}, {5, 5}}, []XY{{0, 1}, {2, 1}, {3, 5}, {5, 5}}},
		{
			"a peak within half a pixel", []XY{{1, 2}, {1.1, 3}, {1.2, 9}, {1.3, 4}, {1.4, 2}, {2, 2}},
			[]XY{{1, 2}, {1.2, 9}, {1.4, 2}, {2, 2}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.thin(tt.points); !slices.Equal(got, tt.want) {
				t.Errorf("thin = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestALogarithmicScaleHasPowersOfTenAtEqualDistances(t *testing.T) {
	s := (&Axis{From: 1, To: 100, Log: true}).on(0, 200)
	for v, want := range map[float64]float64{1: 0, 10: 100, 100: 200, 0.1: 0, 1000: 200} {
		if got := s.at(v); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%v is at %v, want %v", v, got, want)
		}
	}
}

func TestTheLegendOfAPanelBreaksIntoLines(t *testing.T) {
	f := two()
	before, _ := f.drawn()
	_, low := f.drawn()
	for i := range 9 {
		f.Panels[0].Legend = append(f.Panels[0].Legend, Key{Colour: Done, Text: "a series with a name"}, Key{Colour: Failed, Text: string(rune('a' + i))})
	}
	after, high := f.drawn()
	if crowded := f.Crowded(); len(crowded) > 0 {
		t.Errorf("crowded: %q", crowded)
	}
	if len(after.words) != len(before.words)+18 || high < low+3*lineHeight {
		t.Errorf("%d words more and %v pixels, want 18 in several lines", len(after.words)-len(before.words), high-low)
	}
}
