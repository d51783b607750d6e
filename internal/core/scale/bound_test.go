package scale

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// However much waits, and whatever floors and minima say: of a resource that takes
// ten tasks at once, no lane gets more than ten workers.
func TestWorkersBeyondTheConcurrencyAreNotAskedFor(t *testing.T) {
	waiting := func(s *Signals) { s.Loads[0].Backlog, s.Busy, s.SlotWait = 30_000, 1, time.Second }
	for _, tt := range []struct {
		name    string
		signals func(*Signals)
		config  Config
		want    int
	}{
		{"a backlog", waiting, Config{}, 10},
		{"a learned floor", func(s *Signals) { s.Floor = 30 }, Config{}, 10},
		{"a minimum", func(*Signals) {}, Config{Min: 16}, 10},
		{"a timetable", func(*Signals) {}, Config{Timetable: []Reserve{{Day: time.Friday, For: 24 * time.Hour, Workers: 33}}}, 10},
		{"a run time that is not known", func(s *Signals) { waiting(s); s.Loads[0].Samples = 0 }, Config{}, 10},
		{"a rate that allows more", func(s *Signals) { waiting(s); s.Loads[0].Usable = 100 }, Config{}, 10},
		{"a rate that allows less", func(s *Signals) { waiting(s); s.Loads[0].Usable = 6 }, Config{}, 7},
	} {
		for _, name := range Names() {
			policy, err := ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			s := Signals{Workers: 4, Busy: 1, Bound: 10, Loads: []Load{{Resource: "r", Arrivals: 10, Service: 606 * time.Millisecond, Samples: 10}}}
			tt.signals(&s)
			var st State
			for now := epoch; now < epoch+int64(2*time.Minute); now += int64(time.Second) {
				var d Decision
				d, st = policy(now, s, st, tt.config)
				s.Workers = d.Workers
				if d.Workers > 10 {
					t.Fatalf("%s, %s: %q, want at most the 10 that can be used", tt.name, name, d.Text)
				}
				if name == Default && strings.Contains(d.Text, "grew") && d.Useful > 10 {
					t.Errorf("%s: %.1f workers are useful by %q, want at most 10", tt.name, d.Useful, d.Text)
				}
			}
			if name == Default && s.Workers != tt.want {
				t.Errorf("%s: %d workers in the end, want %d", tt.name, s.Workers, tt.want)
			}
		}
	}
}

// Workers that can no longer be used go the way of others that are not needed.
func TestALoweredConcurrencyReleasesWorkers(t *testing.T) {
	now, s, st := settled()
	s.Workers, s.Busy, s.Loads[0].Backlog = 40, 0.1, 3000
	s.Bound = 4
	for range 300 {
		var d Decision
		d, st = Decide(now, s, st, Config{Min: 8})
		s.Workers = d.Workers
		now += int64(time.Second)
	}
	if s.Workers != 4 {
		t.Errorf("%d workers five minutes after the concurrency became 4", s.Workers)
	}
}

func TestItemsPerTaskAreWhatTasksHave(t *testing.T) {
	var p PerTask
	if p = p.See(0, 0, 18); p != 18 {
		t.Errorf("%v items in a task before one was seen, want as many as it may have", p)
	}
	for range 20 {
		p = p.See(60, 60, 18)
	}
	if p > 1.01 || p.Tasks(300) < 295 {
		t.Errorf("%v items in a task, %v tasks a second for 300 items; want 1 and 300", p, p.Tasks(300))
	}
	if p = PerTask(18).See(0, 0, 3); p != 3 {
		t.Errorf("%v items in a task that may have 3", p)
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		tasks       int
		wants, want []int
	}{
		{10, []int{500}, []int{10}},
		{10, []int{500, 500, 500}, []int{3, 3, 4}},
		{10, []int{500, 2, 500}, []int{4, 2, 4}},
		{10, []int{2, 2}, []int{5, 5}},
		{10, []int{500, 0}, []int{10, 10}},
		{2, []int{9, 9, 9}, []int{1, 1, 1}},
		{2, nil, nil},
	} {
		if got := Split(tt.tasks, tt.wants); !slices.Equal(got, tt.want) {
			t.Errorf("%d tasks among lanes that want %v: %v, want %v", tt.tasks, tt.wants, got, tt.want)
		}
	}
}
