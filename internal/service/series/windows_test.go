package series

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/series"
	"github.com/weirhq/weir/internal/engine"
)

func TestNodesAreMergedByTime(t *testing.T) {
	s := onStore(t)
	wrote(t, s, "a", noon.Add(-60*time.Second), "mail", 5, true)
	wrote(t, s, "b", noon.Add(-60*time.Second), "mail", 7, false)
	wrote(t, s, "b", noon.Add(-30*time.Second), "push", 2, false)
	wrote(t, s, "a", noon.Add(-2*time.Hour), "mail", 1000, true) // not of this hour
	all, err := s.fleetSeries(t.Context(), "", s.every, inHour, noon.Add(6*time.Second))
	if err != nil || !all.End.Equal(noon) || all.Points != inHour {
		t.Fatalf("%v to %v, %v", all.Start, all.End, err)
	}
	mail, err := s.fleetSeries(t.Context(), "mail", s.every, inHour, noon.Add(6*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	both, later, between := inHour-6, inHour-3, inHour-5
	if all.Done.Sum() != 14 || *all.Done[both] != 12 || *all.Workers[both] != 1 || *all.Calls[both] != 2 {
		t.Errorf("all: %v", all.Done.Sum())
	}
	if all.Done[between] != nil || all.Workers[later] != nil {
		t.Errorf("while no node wrote: %v done; while no node led: %v workers", all.Done[between], all.Workers[later])
	}
	if mail.Done.Sum() != 12 || *mail.Done[later] != 0 || mail.Done[between] != nil {
		t.Errorf("of one resource: %v", mail.Done.Sum())
	}
}

func TestAStepIsShownOnceAllNodesHaveWrittenIt(t *testing.T) {
	s := onStore(t)
	wrote(t, s, "a", noon, "mail", 5, true)
	for after, want := range map[time.Duration]float64{12 * time.Second: 0, 16 * time.Second: 5} {
		got, err := s.fleetSeries(t.Context(), "", s.every, inHour, noon.Add(after))
		if err != nil || got.Done.Sum() != want {
			t.Errorf("%v after the beginning of the step %v are done, want %v (%v)", after, got.Done.Sum(), want, err)
		}
	}
}

func TestADayHasLongStepsAndKeepsItsSums(t *testing.T) {
	s := onStore(t)
	for i := range 26 * 12 { // one step in each 5 min of 26 hours
		wrote(t, s, "a", noon.Add(-time.Duration(i+1)*5*time.Minute+40*time.Second), "mail", 1, true)
	}
	before, err := s.fleetSeries(t.Context(), "", s.windowLen(), inDay, noon.Add(6*time.Second))
	if err != nil || before.Done.Sum() != inDay || before.Points != inDay {
		t.Fatalf("a day has %v done in %d points, want one in each of %d (%v)", before.Done.Sum(), before.Points, inDay, err)
	}
	size := func() (n, bytes int) {
		for e, err := range s.windows.All(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			n, bytes = n+1, bytes+len(e.Value.All)
		}
		return n, bytes
	}
	_, was := size()
	if err := s.tidy(t.Context(), noon.Add(6*time.Second)); err != nil {
		t.Fatal(err)
	}
	n, is := size()
	if n > inDay+2 || is >= was {
		t.Errorf("%d records of %d bytes, were %d bytes", n, is, was)
	}
	after, err := s.fleetSeries(t.Context(), "", s.windowLen(), inDay, noon.Add(6*time.Second))
	if err != nil || fmt.Sprint(values(after.Done)) != fmt.Sprint(values(before.Done)) ||
		fmt.Sprint(values(after.Workers)) != fmt.Sprint(values(before.Workers)) {
		t.Errorf("the day is %v after the records were made smaller, was %v (%v)", values(after.Done), values(before.Done), err)
	}
	hour, err := s.fleetSeries(t.Context(), "mail", s.every, inHour, noon.Add(6*time.Second))
	if err != nil || hour.Done.Sum() != 12 {
		t.Errorf("the last hour has %v done, want 12 (%v)", hour.Done.Sum(), err)
	}
}

func values(c []*float64) (out []float64) {
	for _, v := range c {
		if v == nil {
			out = append(out, -1)
		} else {
			out = append(out, *v)
		}
	}
	return out
}

func TestADamagedRecordHidesNoOther(t *testing.T) {
	s := onStore(t)
	wrote(t, s, "a", noon.Add(-time.Minute), "mail", 5, true)
	if _, err := s.windows.Insert(t.Context(), windowName(noon.Add(-5*time.Minute), "b"), window{All: []byte{9}}); err != nil {
		t.Fatal(err)
	}
	got, err := s.fleetSeries(t.Context(), "", s.every, inHour, noon.Add(6*time.Second))
	if err != nil || got.Done.Sum() != 5 {
		t.Errorf("%v done, %v", got.Done.Sum(), err)
	}
}

func TestARecordHasABoundedNumberOfResources(t *testing.T) {
	o := &opened{noon, series.New(fleetMeasures, noon, every, 0), map[string]*series.Series{}}
	for i := range 2 * mostResources {
		o.add(0, fmt.Sprint("r", i), counts(fleetMeasures, engine.Tally{Done: 1}))
	}
	if len(o.encode().Resources) != mostResources {
		t.Errorf("%d resources, want %d", len(o.encode().Resources), mostResources)
	}
}
