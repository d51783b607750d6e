package flow

import "testing"

// windowOf is a window of tasks of one item each.
func windowOf(no int64, tasks int, refused int64) []Seen {
	return []Seen{{No: at0/windowNanos + no, Tasks: tasks, Sent: int64(tasks), Refused: refused}}
}

// after lets a rule see windows of so many tasks and refusals, one after the other.
func after(rule RateRule, st RateState, c RateConfig, from int64, windows ...[2]int) RateState {
	for i, w := range windows {
		no := from + int64(i)
		st = rule(at0+(no+1)*windowNanos, windowOf(no, w[0], int64(w[1])), st, c)
	}
	return st
}

func TestACutIsNoDeeperThanTheEvidence(t *testing.T) {
	busy := [2]int{100, 0}
	for _, tt := range []struct {
		name    string
		rate    float64
		windows [][2]int
		least   float64 // of 400 a second
		most    float64
	}{
		{"one refused task of a hundred does not justify a cut", 0, [][2]int{busy, {100, 1}}, 1, 1},
		{"nor is one of ten in a window with little to send", 0, [][2]int{busy, {10, 1}}, 1, 1},
		{"nor are two of five", 0, [][2]int{busy, {5, 2}}, 1, 1},
		{"four of ten cut by a tenth", 0, [][2]int{busy, {10, 4}}, 0.83, 0.93},
		{"the same under a configured rate", 400, [][2]int{busy, {10, 4}}, 0.83, 0.93},
		{"so do five of ten, which may be chance", 0, [][2]int{busy, {10, 5}}, 0.6, 0.7},
		{"half of a hundred cut to a half", 0, [][2]int{busy, {100, 50}}, 0.45, 0.5},
		{"half of thirty cut the rate, not what there was to send", 0, [][2]int{busy, {30, 15}}, 0.45, 0.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := after(Estimate, RateState{}, RateConfig{Rate: tt.rate}, 0, tt.windows...)
			got := 1.0
			if st.Limited {
				got = st.Rate / 400
			}
			if got < tt.least || got > tt.most {
				t.Errorf("%.3f of the rate is left, want %v to %v: %s", got, tt.least, tt.most, st.Text)
			}
		})
	}
}

func TestAFewRefusalsUnderALimitCutByATenthAtMost(t *testing.T) {
	rules(t, func(t *testing.T, rule RateRule) {
		st := RateState{Limited: true, Rate: 400, Found: 400, Last: 400, Top: 1000, Since: at0 - 60*s, Hold: firstHold, Begin: 0.94}
		for _, w := range [][2]int{{5, 1}, {5, 2}, {10, 1}, {100, 2}} {
			if got := after(rule, st, RateConfig{}, 0, w); got.Limited && got.Rate < 0.89*400 {
				t.Errorf("%d of %d tasks refused: %v of 400 are left: %s", w[1], w[0], got.Rate, got.Text)
			}
		}
	})
}

func TestRefusalsAtAnyRateAreBorneAndTheRateGoesBack(t *testing.T) {
	rules(t, func(t *testing.T, rule RateRule) {
		b := newBearer(rule, RateConfig{}, 1e9)
		b.demand, b.chunk, b.noise = 400, 1, 0.03
		b.run(30)
		if b.st.Base < 0.01 || b.st.Base > 0.08 {
			t.Errorf("%.3f are borne after 30 s of 0.03: %s", b.st.Base, b.st.Text)
		}
		if b.st.Limited && b.st.Rate < 0.9*400 {
			t.Errorf("the rate is %v of 400: %s", b.st.Rate, b.st.Text)
		}
		b.noise = 0
		b.run(300)
		if b.st.Base > 0.005 || b.st.Limited {
			t.Errorf("%.4f are still borne five minutes after the last refusal: %s", b.st.Base, b.st.Text)
		}
	})
}

func TestWhatIsBorneDoesNotHideALimit(t *testing.T) {
	rules(t, func(t *testing.T, rule RateRule) {
		b := newBearer(rule, RateConfig{}, 1e9)
		b.demand, b.chunk, b.noise = 400, 1, 0.015
		b.run(60)
		b.bears, b.saved = 200, 0
		b.run(60)
		b.passed, b.missed = 0, 0
		b.run(120)
		if used, refused := b.passed/120/200, b.missed/(b.passed+b.missed); used < 0.8 || refused > 0.12 {
			t.Errorf("of a limit of 200 items/s %.2f are used and %.3f refused, want 0.8 at least and 0.12 at most: %s", used, refused, b.st.Text)
		}
	})
}

func TestRefusalsAtRandomKeepTheRate(t *testing.T) {
	for _, tt := range []struct {
		name         string
		demand, rate float64
	}{
		{"2 tasks a window", 8, 0},
		{"2 tasks a window, under a rate", 16, 8},
		{"20 tasks a window", 80, 0},
		{"20 tasks a window, under a rate", 160, 80},
		{"100 tasks a window", 400, 0},
		{"1,000 tasks a window", 4000, 0},
		{"1,000 tasks a window, under a rate", 8000, 4000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, noise := range []float64{0.003, 0.01, 0.05} {
				b := newBearer(Estimate, RateConfig{Rate: tt.rate}, 1e9)
				b.demand, b.chunk, b.noise = tt.demand, 1, noise
				b.run(600)
				want := tt.demand
				if tt.rate > 0 {
					want = min(want, tt.rate)
				}
				if got := (b.passed + b.missed) / 600 / want; got < 0.9 {
					t.Errorf("%v refused at random: %.3f of the rate is used, want 0.9 at least: %s", noise, got, b.st.Text)
				}
			}
		})
	}
}

func TestFewTasksDoNotCloseADownstream(t *testing.T) {
	closed := func(no int64, tasks int) []Seen {
		x := windowOf(no, tasks, int64(tasks))
		x[0].Timed, x[0].Until = x[0].Refused, at0+60*s
		return x
	}
	rules(t, func(t *testing.T, rule RateRule) {
		st := after(rule, RateState{}, RateConfig{Rate: 100}, 0, [2]int{25, 0})
		st = rule(at0+2*windowNanos, closed(1, 2), st, RateConfig{Rate: 100})
		if _, blocked := st.Blocks(closed(1, 2)[0]); blocked || st.Limited {
			t.Errorf("two tasks that were sent away closed it: %s", st.Text)
		}
		st = rule(at0+3*windowNanos, closed(2, 3), st, RateConfig{Rate: 100})
		until, blocked := st.Blocks(closed(2, 3)[0])
		if !blocked || until != at0+60*s || st.Reason != Restarted {
			t.Errorf("five in a row did not: %v, %v, %s", until, blocked, st.Text)
		}
		st = rule(at0+4*windowNanos, windowOf(3, 5, 0), st, RateConfig{Rate: 100})
		if _, blocked := st.Blocks(closed(4, 2)[0]); blocked {
			t.Error("two tasks that were sent away closed what had been open again")
		}
	})
}

// TestPausesDoNotMakeALimitLookLikeChance: 800 items a second are let through, and after
// most of a window was refused a second goes by, in which the downstream saves up some.
// However often the rate is cut to what is still too much, it is about the rate.
func TestPausesDoNotMakeALimitLookLikeChance(t *testing.T) {
	rules(t, func(t *testing.T, rule RateRule) {
		st := RateState{}
		for _, w := range []Seen{
			{No: 4, Tasks: 16096, Sent: 160000, Refused: 159840},
			{No: 8, Tasks: 407, Sent: 4046, Refused: 3698},
			{No: 12, Tasks: 4, Sent: 39},
			{No: 13, Tasks: 48, Sent: 398, Refused: 80},
			{No: 18, Tasks: 51, Sent: 333, Refused: 144},
			{No: 19, Tasks: 61, Sent: 576, Refused: 360},
			{No: 23, Tasks: 5, Sent: 32},
			{No: 24, Tasks: 72, Sent: 596, Refused: 268},
			{No: 25, Tasks: 54, Sent: 299, Refused: 101},
			{No: 26, Tasks: 32, Sent: 305, Refused: 110},
		} {
			w.No += at0 / windowNanos
			if st = rule((w.No+1)*windowNanos, []Seen{w}, st, RateConfig{}); st.Base > 0 {
				t.Fatalf("window %d: %s", w.No-at0/windowNanos, st.Text)
			}
		}
	})
}
