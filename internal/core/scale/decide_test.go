package scale

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// epoch is the midnight that begins a Friday; the tests' clock starts there.
const epoch = int64(20_000*24) * int64(time.Hour)

// settled is a lane of ten workers that has been watched for a long time: 10
// tasks/s of 606 ms keep six busy, and so small a pool wants four more.
func settled() (int64, Signals, State) {
	s := Signals{Workers: 10, Busy: 0.6, Loads: []Load{{Resource: "r", Arrivals: 10, Service: 606 * time.Millisecond, Samples: 10}}}
	var st State
	now := epoch
	for range 120 {
		_, st = Decide(now, s, st, Config{})
		now += int64(time.Second)
	}
	return now, s, st
}

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cycles  int // with these signals
		signals func(*Signals)
		config  Config
		workers int
		reason  Reason
	}{
		{"the right number is left alone", 1, func(*Signals) {}, Config{}, 10, Steady},
		{"one cycle of a short queue is not believed", 1, func(s *Signals) { s.Loads[0].Backlog = 40 }, Config{}, 10, Confirming},
		{"two cycles are", 2, func(s *Signals) { s.Loads[0].Backlog = 40 }, Config{}, 13, Grew},
		{"a long queue is believed at once", 1, func(s *Signals) { s.Loads[0].Backlog = 100 }, Config{}, 16, Grew},
		{"what is more than late is a bulk and drained fast", 1, func(s *Signals) { s.Loads[0].Backlog = 150 }, Config{}, 30, Grew},
		{"a step is four times at most", 1, func(s *Signals) { s.Loads[0].Backlog = 30_000 }, Config{Max: 500}, 40, Grew},
		{"the ceiling holds", 1, func(s *Signals) { s.Loads[0].Backlog = 30_000 }, Config{Max: 15}, 15, Grew},
		{"at the ceiling nothing moves", 2, func(s *Signals) { s.Loads[0].Backlog = 30_000 }, Config{Max: 10}, 10, AtMax},
		{"workers are not added beyond the usable rate", 5, func(s *Signals) { s.Loads[0].Backlog, s.Loads[0].Usable = 30_000, 9 }, Config{}, 10, Steady},
		{"a closed resource needs no workers, but a minute has to pass", 1, func(s *Signals) { s.Loads[0].Closed = true }, Config{}, 10, Watching},
		{"waiting for busy workers trims upwards", 4, func(s *Signals) { s.SlotWait, s.Busy = time.Second, 0.95 }, Config{}, 13, Trimmed},
		{"a full CPU forbids growth", 2, func(s *Signals) { s.Loads[0].Backlog, s.CPU = 300, 0.9 }, Config{}, 10, VetoCPU},
		{"full memory forbids growth", 2, func(s *Signals) { s.Loads[0].Backlog, s.Memory = 300, 0.9 }, Config{}, 10, VetoMemory},
		{"a choking CPU takes workers away", 1, func(s *Signals) { s.CPU = 0.97 }, Config{}, 9, CutCPU},
		{"choking memory takes workers away", 1, func(s *Signals) { s.Memory = 0.97 }, Config{}, 9, CutMemory},
		{"a cut stops at the minimum", 1, func(s *Signals) { s.CPU = 0.97 }, Config{Min: 10}, 10, CutCPU},
		{"a tenth of failures is borne without strain", 20, func(s *Signals) { s.Loads[0].Backlog, s.Loads[0].Failed = 100, 1 }, Config{}, 16, Steady},
		{"a floor from below is reached at once", 1, func(s *Signals) { s.Floor = 30 }, Config{}, 30, AtFloor},
		{"a floor does not override a CPU veto", 1, func(s *Signals) { s.Floor, s.CPU = 30, 0.9 }, Config{}, 10, VetoCPU},
		{"the timetable is a floor, too", 1, func(*Signals) {}, Config{Timetable: []Reserve{{Day: time.Friday, For: 24 * time.Hour, Workers: 33}}}, 33, AtReserve},
		{"below the minimum is raised", 1, func(s *Signals) { s.Workers = 1 }, Config{Min: 4}, 4, AtMin},
		{"above the maximum is lowered", 1, func(s *Signals) { s.Workers = 90 }, Config{}, 64, AtMax},
		{"pause holds", 3, func(s *Signals) { s.Loads[0].Backlog = 3000 }, Config{Paused: true}, 10, Paused},
		{"a person's word comes first", 1, func(s *Signals) { s.CPU = 0.99 }, Config{Paused: true, Override: Override{Workers: 3, Until: epoch + int64(time.Hour)}}, 3, Overridden},
		{"until it expires", 1, func(*Signals) {}, Config{Override: Override{Workers: 3, Until: epoch + int64(time.Minute)}}, 10, Steady},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now, s, st := settled()
			tt.signals(&s)
			var d Decision
			for range tt.cycles {
				d, st = Decide(now, s, st, tt.config)
				s.Workers = d.Workers
				now += int64(time.Second)
			}
			if d.Workers != tt.workers || d.Reason != tt.reason {
				t.Errorf("Decide = %d (%s: %s), want %d (%s)", d.Workers, d.Reason, d.Text, tt.workers, tt.reason)
			}
		})
	}
}

func TestErrorsForbidGrowthOnlyUnderStrain(t *testing.T) {
	for _, strained := range []bool{false, true} {
		now, s, st := settled()
		s.Strained, s.Loads[0].Failed = strained, 1
		for range 60 { // the share of failures settles at a tenth
			_, st = Decide(now, s, st, Config{})
			now += int64(time.Second)
		}
		s.Loads[0].Backlog = 300
		_, st = Decide(now, s, st, Config{})
		d, _ := Decide(now+int64(time.Second), s, st, Config{})
		if want := map[bool]Reason{false: Grew, true: VetoErrors}[strained]; d.Reason != want {
			t.Errorf("strained %v: %s (%s), want %s", strained, d.Reason, d.Text, want)
		}
	}
}

func TestColdLaneDoublesOnDepthAlone(t *testing.T) {
	s := Signals{Workers: 8, Busy: 1, Loads: []Load{{Resource: "r", Backlog: 1000}}}
	c := Config{Min: 8}
	var st State
	for i, want := range []int{16, 32, 64} {
		var d Decision
		if d, st = Decide(epoch+int64(i)*int64(time.Second), s, st, c); d.Workers != want || d.Reason != Cold {
			t.Errorf("cycle %d: %d (%s), want %d (%s)", i+1, d.Workers, d.Reason, want, Cold)
		}
		s.Workers = d.Workers
	}
}

// A few tasks that ended well do not slow growth, compared with none that ended.
func TestAFreshLaneDoublesUntilTasksFail(t *testing.T) {
	for _, tt := range []struct{ failed, want int }{{0, 64}, {4, 8}} {
		s := Signals{Workers: 8, Busy: 1, Loads: []Load{{Resource: "r", Backlog: 1000, Samples: 8, Failed: tt.failed, Service: 1500 * time.Millisecond}}}
		var st State
		var d Decision
		for i := range int64(3) {
			d, st = Decide(epoch+i*int64(time.Second), s, st, Config{Min: 8})
			s.Workers = d.Workers
		}
		if d.Workers != tt.want {
			t.Errorf("%d of 8 tasks fail each second: %d workers after three seconds (%s), want %d", tt.failed, d.Workers, d.Text, tt.want)
		}
	}
}

func TestColdLaneWithIdleWorkersIsHeldUpElsewhere(t *testing.T) {
	s := Signals{Workers: 8, Busy: 0.9, Loads: []Load{{Resource: "r", Backlog: 1000}}}
	var d Decision
	var st State
	for i := range int64(5) {
		if d, st = Decide(epoch+i*int64(time.Second), s, st, Config{Min: 8}); d.Workers != 8 {
			t.Fatalf("cycle %d: %d (%s), want no growth", i, d.Workers, d.Text)
		}
	}
}

// A leader that knows nothing of a lane with workers neither adds to them blindly
// nor takes them away.
func TestNewLeaderHoldsWhatItFinds(t *testing.T) {
	for _, tt := range []struct {
		name    string
		signals Signals
		cycles  int
	}{
		{"while long tasks run", Signals{Workers: 30, Busy: 1, Loads: []Load{{Resource: "r", Backlog: 3000}}}, 5},
		{"while a third of the tasks fail", Signals{Workers: 30, Busy: 1, Loads: []Load{{Resource: "r", Arrivals: 30, Backlog: 3000, Samples: 6, Failed: 2, Service: 5 * time.Second}}}, 3},
		{"on a calm lane, for a minute", Signals{Workers: 30, Loads: []Load{{Resource: "r"}}}, 60},
		{"at full load", Signals{Workers: 30, Busy: 0.72, Loads: []Load{{Resource: "r", Arrivals: 43, Samples: 43, Service: 500 * time.Millisecond}}}, 120},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var st State
			for i := range int64(tt.cycles) {
				var d Decision
				if d, st = Decide(epoch+i*int64(time.Second), tt.signals, st, Config{}); d.Workers != 30 {
					t.Fatalf("cycle %d: %d (%s), want 30", i+1, d.Workers, d.Text)
				}
			}
		})
	}
}

func TestReleaseWaitsAMinuteThenGoesInHalves(t *testing.T) {
	now, s, st := settled()
	s.Loads[0].Arrivals, s.Loads[0].Samples, s.Busy = 0, 0, 0
	begin, seen := now, []int{10}
	for now-begin < int64(3*time.Minute) {
		var d Decision
		d, st = Decide(now, s, st, Config{})
		if d.Workers != s.Workers {
			if len(seen) == 1 && now-begin < int64(time.Minute) {
				t.Errorf("first release after %v, want a minute at least", time.Duration(now-begin))
			}
			seen = append(seen, d.Workers)
		}
		s.Workers = d.Workers
		now += int64(time.Second)
	}
	if s.Workers != 1 || seen[1] != 9 {
		t.Errorf("workers went %v, want 10, 9 and so on down to 1", seen)
	}
}

func TestChangesOfMindMakePatient(t *testing.T) {
	st := State{}.acted(epoch, 1, 4).acted(epoch+int64(time.Minute), 4, 2).acted(epoch+2*int64(time.Minute), 2, 4)
	at := epoch + 2*int64(time.Minute)
	if p := st.patience(at); p < 3 || p > maxPatient {
		t.Errorf("patience after two reversals = %.2f, want 3 to %d", p, maxPatient)
	}
	if p := st.patience(at + int64(time.Hour)); p > 1.01 {
		t.Errorf("patience after a calm hour = %.2f, want 1", p)
	}
	if same := (State{}).acted(epoch, 1, 4).acted(epoch+1e9, 4, 8); same.patience(epoch+1e9) != 1 {
		t.Error("growing twice made patient, want only a reversal to")
	}
}

func drawSignals(t *rapid.T) Signals {
	s := Signals{
		Workers:  rapid.IntRange(0, 200).Draw(t, "workers"),
		Busy:     rapid.Float64Range(0, 1).Draw(t, "busy"),
		CPU:      rapid.Float64Range(0, 1).Draw(t, "cpu"),
		SlotWait: time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "wait")),
		Strained: rapid.Bool().Draw(t, "strained"),
		Floor:    rapid.IntRange(0, 100).Draw(t, "floor"),
	}
	for _, name := range []string{"a", "b"} {
		n := rapid.IntRange(0, 1000).Draw(t, "samples")
		s.Loads = append(s.Loads, Load{
			Resource: name, Arrivals: rapid.Float64Range(0, 1e6).Draw(t, "arrivals"),
			Backlog: rapid.IntRange(0, 1e9).Draw(t, "backlog"), Usable: rapid.Float64Range(0, 1e6).Draw(t, "usable"),
			Closed: rapid.Bool().Draw(t, "closed"), Samples: n, Failed: rapid.IntRange(0, n).Draw(t, "failed"),
			Service: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "service")),
		})
	}
	return s
}

// Whatever it sees, every policy keeps the bounds, explains itself, repeats
// itself, leaves the old state alone and survives writing the state down.
func TestEveryPolicyKeepsItsPromises(t *testing.T) {
	c := Config{Min: 2, Max: 77}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			policy, err := ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(t *rapid.T) {
				st, now := State{}, epoch
				for range rapid.IntRange(1, 8).Draw(t, "cycles") {
					s := drawSignals(t)
					before, _ := json.Marshal(st)
					d, next := policy(now, s, st, c)
					again, _ := policy(now, s, st, c)
					after, err := json.Marshal(st)
					switch {
					case d.Workers < c.Min || d.Workers > c.Max:
						t.Fatalf("%d workers, want %d to %d", d.Workers, c.Min, c.Max)
					case d.Reason == "" || !strings.HasSuffix(d.Text, ".") || strings.Contains(d.Text, "%!"):
						t.Fatalf("decision does not explain itself: %+v", d)
					case d != again:
						t.Fatalf("same arguments: %+v, then %+v", d, again)
					case string(before) != string(after) || err != nil:
						t.Fatalf("the old state changed (%v)", err)
					}
					st, now = written(t, next), now+rapid.Int64Range(1, int64(time.Minute)).Draw(t, "pause")
				}
			})
		})
	}
}

// written is a state after it was written down and read back.
func written(t *rapid.T, st State) State {
	text, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	var back State
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(st, back) {
		t.Fatalf("state read back differs (%v)", err)
	}
	return back
}
