package model

import (
	"fmt"
	"testing"
	"time"
)

func TestACurveTellsOfEveryItemOnceInAFewPoints(t *testing.T) {
	w := World{
		Resources: []Resource{{Name: "send", Rate: 100, Downstream: Downstream{Latency: Span(50 * time.Millisecond)}}},
		Tenants:   []Tenant{{Name: "a", Weight: 3}, {Name: "b", Weight: 1}},
		BulkActions: []BulkAction{
			{Name: "a", Items: 30_000, Batch: 10, Steps: []string{"send"}},
			{Name: "b", Items: 30_000, Batch: 10, Steps: []string{"send"}},
		},
	}
	r, err := Run(w)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Curve
	if fmt.Sprint(c.Tenants) != "[a b]" || len(c.Points) > mostPoints || len(c.Points) < mostPoints/2 || time.Duration(c.Every) != 4*time.Second {
		t.Fatalf("%v in %d points of %v, want a and b in at most %d of 4s", c.Tenants, len(c.Points), time.Duration(c.Every), mostPoints)
	}
	var sum [3]int64
	for _, p := range c.Points {
		for i, n := range p {
			sum[i] += n
		}
	}
	if sum != [3]int64{30_000, 30_000, 0} {
		t.Errorf("the points add up to %v, want all items of both", sum)
	}
	if early := c.Points[10]; early[0] < 2*early[1] || early[0] > 4*early[1] {
		t.Errorf("while both compete they get %v, want 3 to 1", early)
	}
}

func TestTenantsBeyondTheFirstAreOne(t *testing.T) {
	var c Curve
	for i := range 50 {
		c.add(0, i, 1)
	}
	order := make([]*tenant, 50)
	for i := range order {
		order[i] = &tenant{name: fmt.Sprint(i)}
	}
	c = c.named(order)
	if len(c.Tenants) != mostCurved || len(c.Points[0]) != mostCurved+1 || c.Points[0][mostCurved] != 30 {
		t.Errorf("%d tenants, last of %d: %v", len(c.Tenants), len(c.Points[0]), c.Points[0])
	}
}

// TestAWorldIsLeftWhenThatIsAskedFor: what was seen by then is told, and that it is not the end.
func TestAWorldIsLeftWhenThatIsAskedFor(t *testing.T) {
	w, ok := ByName("flood")
	if !ok {
		t.Fatal("flood not found")
	}
	r, err := RunUntil(w, func(at Span) bool { return at > Span(3*time.Second) })
	if err != nil || r.Finished || r.End <= Span(3*time.Second) || r.End > Span(5*time.Second) || len(r.Kinds) != len(w.BulkActions) {
		t.Errorf("left at %v, finished %v, %v; want it soon after 3s", time.Duration(r.End), r.Finished, err)
	}
	f, err := ForeseeUntil(w, 10, func(at Span) bool { return at > Span(time.Second) })
	if err != nil || f.Runs != 1 || f.Unfinished != 1 || f.First.End == 0 {
		t.Errorf("%+v, %v; want one run, unfinished", f, err)
	}
}
