package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/dashboard/format"
)

// wellFormed fails unless a fragment is well-formed XML, as SVG within HTML should be.
func wellFormed(t *testing.T, fragment string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader("<div>" + fragment + "</div>"))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, fragment)
		}
	}
}

func hour() *Series {
	from := time.Date(2026, 11, 15, 13, 0, 0, 0, time.UTC)
	s := &Series{
		ID: "c", Title: "Items per second", Desc: "About 300 of 300 allowed.", Unit: "Items/s", Height: 120, Bound: "Allowed",
		Clock: format.Clock{Zone: time.UTC, Now: from.Add(time.Hour)}, From: from, To: from.Add(time.Hour),
	}
	for i := range 61 {
		s.Points = append(s.Points, Point{At: from.Add(time.Duration(i) * time.Minute), Value: 299, Bound: 300})
	}
	return s
}

func TestASeriesIsDrawnWithItsLimitItsTicksAndATable(t *testing.T) {
	s := hour()
	s.Marks = []Mark{{At: s.From.Add(15 * time.Minute), Text: "<b>circuit</b> opened"}}
	got := string(s.HTML())
	wellFormed(t, got)
	for _, want := range []string{
		`d="M0 25.25L1.67 25.25`,                         // 299 of an axis to 400
		`class="limit" d="M0 25H1.67`,                    // 300 of it
		`allowed 300`,                                    // in words
		`<span>400</span><span>200</span><span>0</span>`, // ticks
		`text-anchor="start">13:00</text>`, `x="25%" y="10" text-anchor="middle">13:15</text>`,
		`x="25%"`, `&lt;b&gt;circuit&lt;/b&gt; opened`,
		`<th scope="row">14:00</th><td class="num">299</td><td class="num">300</td>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s:\n%s", want, got)
		}
	}
	if n := strings.Count(got, `<th scope="row">`); n > 61 {
		t.Errorf("the table has %d rows", n)
	}
}

func TestAnAxisEndsAboveItsLargestValue(t *testing.T) {
	for _, most := range []float64{0, 0.3, 1, 9, 10, 99, 300, 500, 1800, 2400, 12345, 999999} {
		a := Above("", most)
		ticks := a.ticks()
		if a.To <= most || len(ticks) < 2 || len(ticks) > 4 || ticks[0].at != 0 || ticks[len(ticks)-1].at != a.To {
			t.Errorf("%v: axis to %v with ticks %v", most, a.To, ticks)
		}
	}
}

func TestAnEmptySeriesIsStillAChart(t *testing.T) {
	s := hour()
	s.Points = nil
	wellFormed(t, string(s.HTML()))
}

func TestALimitThatIsUnknownForATimeHasAGap(t *testing.T) {
	s := hour()
	for i := 20; i < 40; i++ {
		s.Points[i].Bound = 0
	}
	if got := s.bound(route{scale{to: 3600, end: 100}, scale{to: 400, start: 100}, 100}); strings.Count(got, "M") != 2 {
		t.Errorf("the limit is %s, want two pieces", got)
	}
}

func TestPartsOfAStackFollowEachOther(t *testing.T) {
	got := string(Stack("stack", 1000, Part{"f-done", 500}, Part{"f-failed", 0}, Part{"f-running", 1}, Part{"f-ready", 499}))
	wellFormed(t, got)
	for _, want := range []string{
		`class="f-done" x="0%" width="50%"`, `class="f-running" x="50%" width="0.12%"`, `class="f-ready" x="50.1%" width="49.9%"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s: %s", want, got)
		}
	}
	if strings.Contains(got, "f-failed") {
		t.Errorf("an empty part is drawn: %s", got)
	}
}

func TestSparksAndSharesAreWellFormed(t *testing.T) {
	wellFormed(t, string(Spark(`3 in "the" last hour`, []int64{0, 3, 1})))
	wellFormed(t, string(Share(0.52, 0.5)))
}

func TestAGapInWhatIsKnownIsAGapInTheLine(t *testing.T) {
	at := time.Date(2026, 11, 15, 13, 0, 0, 0, time.UTC)
	s := Series{ID: "c", Title: "t", Unit: "Items/s", Height: 100, From: at, To: at.Add(40 * time.Second), Clock: format.Clock{Zone: time.UTC, Now: at}}
	for i, v := range []float64{10, 10, math.NaN(), 10, 10} {
		s.Points = append(s.Points, Point{At: at.Add(time.Duration(i) * 10 * time.Second), Value: v})
	}
	got := string(s.HTML())
	if !strings.Contains(got, `class="l" d="M0 `) || strings.Count(got, "V100H") != 2 || strings.Contains(got, "NaN") {
		t.Errorf("the line goes over the gap:\n%s", got)
	}
	if !strings.Contains(got, "Unknown") {
		t.Errorf("the table does not say that a value is unknown:\n%s", got)
	}
}

func TestAShortAxisHasSeconds(t *testing.T) {
	s := hour()
	s.To = s.From.Add(20 * time.Second)
	if got := string(s.HTML()); !strings.Contains(got, ">13:00:05</text>") {
		t.Errorf("the times are not told apart: %s", got)
	}
}

// Numbers are written as people write them, and times of a table differ.
func TestTableIsReadable(t *testing.T) {
	for v, want := range map[float64]string{6010.4: "6,010", 123.4: "123", 99.96: "100", 1.5: "1.5", 0.1234: "0.123", 0.00001234: "0.0000123", 0: "0", 64: "64"} {
		if got := Number(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
	at := time.Date(2026, 7, 29, 14, 50, 0, 0, time.UTC)
	s := Series{ID: "c", Title: "t", Unit: "Items/s", Height: 100, From: at, To: at.Add(10 * time.Minute), Clock: format.Clock{Zone: time.UTC, Now: at}}
	for i := range 60 {
		s.Points = append(s.Points, Point{At: at.Add(time.Duration(i) * 10 * time.Second), Value: 6010.4})
	}
	page := string(s.HTML())
	if !strings.Contains(page, "14:57:10") || !strings.Contains(page, "6,010") || strings.Contains(page, "e+") {
		t.Errorf("the table is %s", page)
	}
}

// A value that is of a span of time is drawn as a step: a pause is not a slope between what was before and after it.
func TestAValueOfASpanOfTimeIsAStep(t *testing.T) {
	s := hour()
	s.To, s.Step = s.From.Add(100*time.Second), 25*time.Second
	s.Points = nil
	for i, v := range []float64{20, 0, 0, 20} {
		s.Points = append(s.Points, Point{At: s.From.Add(time.Duration(i) * s.Step), Value: v})
	}
	got := string(s.HTML())
	wellFormed(t, got)
	if want := `class="l" d="M0 33.33H25V100H50H75V33.33H100"`; !strings.Contains(got, want) {
		t.Errorf("lacks %s:\n%s", want, got)
	}
}
