package scale

import (
	"testing"
	"time"
)

func TestArrivals(t *testing.T) {
	for _, tt := range []struct {
		name     string
		before   float64 // for a long time
		then     []float64
		low, top float64
	}{
		{"chance moves the mean a little", 50, []float64{60}, 50.9, 51.1},
		{"two high counts are a new rate", 10, []float64{80, 90}, 85, 85},
		{"one high count is a bulk and no rate", 10, []float64{1000}, 10, 12},
		{"nor after it", 10, []float64{1000, 10, 10}, 10, 12},
		{"low counts need five in a row", 100, []float64{10, 10, 10, 10}, 60, 70},
		{"and are then believed", 100, []float64{10, 10, 10, 10, 10}, 10, 10},
		{"after a jump the mean settles by plain average", 10, []float64{80, 90, 70}, 80, 80},
		{"a trickle ends", 0.0005, []float64{0}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			track := Track{Arrivals: tt.before, Cycles: settling}
			for _, rate := range tt.then {
				track = track.seeArrivals(rate)
			}
			if track.Arrivals < tt.low || track.Arrivals > tt.top {
				t.Errorf("arrivals = %.2f, want %v to %v", track.Arrivals, tt.low, tt.top)
			}
		})
	}
}

func TestFirstSightOfABulkIsNoRate(t *testing.T) {
	track := Track{}.seeArrivals(1000)
	if track.Arrivals != 1000 {
		t.Errorf("arrivals on first sight = %v, want what was seen", track.Arrivals)
	}
	if track = track.seeArrivals(5); track.Arrivals != 5 {
		t.Errorf("arrivals after a quiet second = %v, want 5", track.Arrivals)
	}
}

// slowed is a track of 50 ms tasks whose run time has just jumped to 5 s.
func slowed(failed int) Track {
	track := Track{Service: 0.05, Samples: coldBelow}
	return track.seeService(Load{Samples: 5, Failed: failed, Service: 5 * time.Second}, false)
}

func TestSlownessHasToProveItself(t *testing.T) {
	if track := slowed(0); track.Service != 5 || track.Doubt != doubtful || track.Cleared {
		t.Fatalf("after a jump: %+v, want a doubt", track)
	}
	for _, tt := range []struct {
		name     string
		failed   int // of ten tasks in each of the cycles
		strained bool
		cycles   int
		cleared  bool
	}{
		{"good tasks clear it", 0, false, listening + 1, true},
		{"but not before flow control could speak", 0, false, listening - 1, false},
		{"one failure in ten clears it later", 1, false, listening + 6, true},
		{"four in ten do not", 4, false, doubtful, false},
		{"nothing does under strain", 0, true, 30, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			track := slowed(0)
			for range tt.cycles {
				track = track.seeService(Load{Samples: 10, Failed: tt.failed, Service: 5 * time.Second}, tt.strained)
			}
			if track.Cleared != tt.cleared {
				t.Errorf("cleared = %v with evidence %.1f and doubt %d, want %v", track.Cleared, track.Evidence, track.Doubt, tt.cleared)
			}
		})
	}
}

func TestDoubtEndsWithTimeUnlessTasksFail(t *testing.T) {
	quiet, failing := slowed(0), slowed(3)
	for range doubtful {
		quiet = quiet.seeService(Load{}, false)
		failing = failing.seeService(Load{Samples: 1, Failed: 1, Service: 5 * time.Second}, false)
	}
	if quiet.Doubt != 0 {
		t.Errorf("doubt without any tasks = %d after %d cycles, want 0", quiet.Doubt, doubtful)
	}
	if failing.Doubt == 0 {
		t.Error("the doubt ended although every task failed")
	}
}

func TestEachStepHasToBeEarned(t *testing.T) {
	st := State{Tracks: []Track{{Doubt: 30, Cleared: true, Evidence: -20}}}.acted(epoch, 10, 40)
	if got := st.Tracks[0]; got.Cleared || got.Evidence != 0 {
		t.Errorf("after growth within a doubt: %+v, want it open again", got)
	}
}

func TestASecondJumpKeepsTheEvidence(t *testing.T) {
	track := slowed(3)
	before := track.Evidence
	if track = track.suspect(0); track.Evidence != before {
		t.Errorf("evidence = %.1f, want the %.1f that it was", track.Evidence, before)
	}
}

func TestTasksThatHangRaiseADoubt(t *testing.T) {
	now, s, st := settled()
	s.Busy, s.Loads[0].Samples = 1, 0
	_, after := Decide(now, s, st, Config{})
	if got := after.Tracks[0]; got.Doubt != doubtful || got.Cleared {
		t.Errorf("ten busy workers end nothing: %+v, want a doubt", got)
	}
	st.Working = 0
	_, after = Decide(now, s, st, Config{})
	if got := after.Tracks[0].Doubt; got != 0 {
		t.Errorf("ten workers that began in this second end nothing: doubt %d, want none", got)
	}
}

func TestRecoveryIsDrainedCalmly(t *testing.T) {
	if well, just := drained(600, 10, 15, true), drained(600, 10, 15, false); just*3 > well {
		t.Errorf("drained at %.1f/s after failures, %.1f/s else, want far less", just, well)
	}
	st := State{FailedAt: epoch}
	if st.healthy(epoch+int64(recovery)) || !st.healthy(epoch+int64(recovery)+1) {
		t.Errorf("healthy again, want it %v after the failures", recovery)
	}
}
