package series

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/series"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/storedtest"
)

func TestTheStoredFormatIsThatOfTheGoldenFile(t *testing.T) {
	storedtest.Check(t, "testdata/stored.txt", map[string]any{"series": window{}, "bulk_series": life{}})
}

func TestTheColumnsAreStoredInThisOrderAndForm(t *testing.T) {
	var names []string
	for i, m := range fleetMeasures {
		names = append(names, fmt.Sprintf("%d %s %d", i, m.Name, m.Rule))
	}
	s := series.New(fleetMeasures, noon, every, 3)
	s.Add(1, []float64{3, 1, 0, 0, 0, 2, 99.5, 4, series.Unknown(), 8, 7.25, 1000, 0.5})
	got := strings.Join(names, "\n") + "\n" + hex.EncodeToString(s.Encode()) + "\n"
	const golden = "testdata/columns.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || got != string(want) {
		t.Errorf("the columns are\n%s, want (%s)\n%s%v", got, golden, want, err)
	}
}

// moved is a bulk action that has done so much at a time since noon.
func moved(id string, since, at time.Duration, n int64) *engine.Moved {
	return &engine.Moved{ID: weir.BulkID(id), Started: noon, Since: noon.Add(since), From: noon.Add(since), At: noon.Add(at),
		Tally: engine.Tally{Done: n, Calls: n}, InFlight: 1}
}

func TestALongLifeHasFewPointsAndAllItems(t *testing.T) {
	s := onStore(t)
	const samples = 20_000 // two days
	for i := range samples {
		at := time.Duration(i+1) * every
		s.late.add(moved("ba_1", at-every, at, int64(3*(i+1))))
		if i%7 == 6 || i == samples-1 { // the store is slow
			if err := s.write(t.Context(), s.late.byID["ba_1"]); err != nil {
				t.Fatal(err)
			}
			delete(s.late.byID, "ba_1")
		}
	}
	l, err := s.life(t.Context(), "ba_1", &weir.Progress{Started: noon})
	if err != nil || l.Len() > mostPoints || l.Len() < mostPoints/2 || l.Sum(done) != 3*samples {
		t.Fatalf("%d points, %v done, %v", l.Len(), l.Sum(done), err)
	}
	for i := range l.Len() {
		if !l.Known(i) {
			t.Fatalf("step %d is unknown", i)
		}
	}
	e, err := s.lives.Get(t.Context(), "ba_1")
	if err != nil || len(e.Value.Points) > 5<<10 {
		t.Errorf("it is stored in %d bytes, %v", len(e.Value.Points), err)
	}
}

func TestSpeedsAreThoseOfTheLastWholeSteps(t *testing.T) {
	s := onStore(t)
	p := &weir.Progress{Started: noon}
	if got, err := s.Speeds(t.Context(), "ba_1", p); err != nil || len(got) > 0 {
		t.Errorf("speeds of one without a series: %v, %v", got, err)
	}
	total := int64(0)
	for i := range lately + 11 {
		total += 100 * int64(1+i%2) // 10/s and 20/s in turns
		at := time.Duration(i+1) * every
		s.late.add(moved("ba_1", at-every, at, total))
		if err := s.write(t.Context(), s.late.byID["ba_1"]); err != nil {
			t.Fatal(err)
		}
		delete(s.late.byID, "ba_1")
	}
	got, err := s.Speeds(t.Context(), "ba_1", p)
	if err != nil || len(got) != lately {
		t.Fatalf("%d speeds, want %d (%v)", len(got), lately, err)
	}
	for i, v := range got {
		if want := float64(10 * (1 + i%2)); v != want {
			t.Fatalf("speed %d is %v, want %v", i, v, want)
		}
	}
}

func TestSamplesThatCannotBeWrittenAreBounded(t *testing.T) {
	var b backlog
	for i := range 1000 {
		at := time.Duration(i+1) * every
		b.add(moved("ba_1", at-every, at, int64(i+1)))
	}
	x := b.byID["ba_1"]
	if len(x.samples) > mostLate {
		t.Errorf("%d samples are held, at most %d should be", len(x.samples), mostLate)
	}
	l := series.NewLife(bulkMeasures, noon, every, mostPoints)
	for _, p := range x.samples {
		l.Add(p)
	}
	if l.Sum(done) != 1000 {
		t.Errorf("%v are done, want 1000", l.Sum(done))
	}
	for i := range mostBehind + 10 {
		b.add(moved(fmt.Sprint("ba_", i), 0, every, 1))
	}
	if len(b.byID) != mostBehind {
		t.Errorf("%d bulk actions are held, want %d", len(b.byID), mostBehind)
	}
	b.add(&engine.Moved{ID: "ba_held", At: noon})
	if b.byID["ba_held"] != nil {
		t.Error("one that has not started is held")
	}
}

func TestTheSeriesOfARemovedBulkActionIsRemoved(t *testing.T) {
	s := onStore(t)
	for _, id := range []string{"ba_gone", "ba_here"} {
		s.late.add(moved(id, 0, every, 1))
		if err := s.write(t.Context(), s.late.byID[weir.BulkID(id)]); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(_ context.Context, id string) (bool, error) { return id == "ba_gone", nil }
	if err := s.Sweep(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if _, err := s.lives.Get(t.Context(), "ba_gone"); !errors.Is(err, weir.ErrNotFound) {
		t.Errorf("the series of a removed bulk action: %v", err)
	}
	if _, err := s.lives.Get(t.Context(), "ba_here"); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNotStoredYetWasNotCountedInThePauseBefore(t *testing.T) {
	s := &Series{every: every}
	l := s.begin(noon)
	l.Add(sampleOf(moved("ba_1", 0, 10*time.Second, 100)))
	s.catchUp(l, &engine.Moved{At: noon.Add(47 * time.Second), Tally: engine.Tally{Done: 240}})
	want := []float64{100, 0, 0, 0, 140}
	if got := l.Columns[done]; !slices.Equal(got, want) {
		t.Errorf("items done by step: %v, want %v", got, want)
	}
}
