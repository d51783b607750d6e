package scale

import (
	"reflect"
	"testing"
	"time"
)

// rested is a lane that had work and has been idle for five minutes, at its
// minimum of one worker.
func rested() (int64, Signals, State) {
	now, s, st := settled()
	s.Loads[0], s.Busy = Load{Resource: "r", Usable: 100}, 0
	for range 300 {
		var d Decision
		d, st = Decide(now, s, st, Config{})
		s.Workers = d.Workers
		now += int64(time.Second)
	}
	return now, s, st
}

func TestRestIsCheapAndChangesNothing(t *testing.T) {
	now, s, st := rested()
	before := st
	d, after := Decide(now, s, st, Config{})
	if d.Text != idleText || d.Workers != 1 || d.Reason != Steady {
		t.Fatalf("Decide = %+v, want rest at 1 worker after five idle minutes", d)
	}
	if d.Useful < 70 || d.Useful > 80 {
		t.Errorf("useful = %.1f, want what 100 tasks/s of 606 ms can use", d.Useful)
	}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("the state changed from %+v to %+v", before, after)
	}
	if n := testing.AllocsPerRun(100, func() { Decide(now, s, st, Config{}) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// Whatever may move a lane has to wake it.
func TestRestEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		wake func(*Signals, *Config)
	}{
		{"with a task that arrives", func(s *Signals, _ *Config) { s.Loads[0].Arrivals = 1 }},
		{"with a backlog", func(s *Signals, _ *Config) { s.Loads[0].Backlog = 1 }},
		{"with a task that ends", func(s *Signals, _ *Config) { s.Loads[0].Samples = 1 }},
		{"with a busy worker", func(s *Signals, _ *Config) { s.Busy = 0.1 }},
		{"with more workers than it should have", func(s *Signals, _ *Config) { s.Workers = 2 }},
		{"with a floor that was learned", func(s *Signals, _ *Config) { s.Floor = 5 }},
		{"on a choking node", func(s *Signals, _ *Config) { s.CPU = 0.99 }},
		{"with another resource", func(s *Signals, _ *Config) { s.Loads[0].Resource = "q" }},
		{"with one resource more", func(s *Signals, _ *Config) { s.Loads = append(s.Loads, Load{Resource: "q"}) }},
		{"by hand", func(_ *Signals, c *Config) { c.Override = Override{Workers: 7, Until: 1 << 62} }},
		{"with a pause", func(_ *Signals, c *Config) { c.Paused = true }},
		{"by the timetable", func(_ *Signals, c *Config) {
			c.Timetable = Timetable{{Day: time.Friday, For: 24 * time.Hour, Workers: 9}}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now, s, st := rested()
			var c Config
			tt.wake(&s, &c)
			if d, _ := Decide(now, s, st, c); d.Text == idleText {
				t.Errorf("Decide = %+v, want it awake", d)
			}
		})
	}
}
