package flow

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bearer is a downstream that lets a rate through, and saves up some seconds of it.
type bearer struct {
	rule   RateRule
	c      RateConfig
	bears  float64 // items/s
	saves  float64 // seconds
	chunk  float64 // items of a task
	demand float64 // items/s that there are; 0: no end of them
	noise  float64 // share of tasks that are refused at any rate
	timed  bool    // refusals say to come back after a second

	rng            *rand.Rand
	st             RateState
	no             int64
	saved, carry   float64
	passed, missed float64
	states         []RateState
}

func newBearer(rule RateRule, c RateConfig, bears float64) *bearer {
	return &bearer{rule: rule, c: c, bears: bears, saves: 0.1, chunk: max(c.Rate/100, 1), no: at0 / windowNanos, rng: rand.New(rand.NewPCG(3, 4))}
}

// run lets seconds pass.
func (b *bearer) run(seconds float64) {
	for range int(4 * seconds) {
		b.window()
	}
}

func (b *bearer) window() {
	rate := b.st.inForce(b.c)
	if rate == 0 || b.demand > 0 && b.demand < rate {
		rate = b.demand
	}
	b.carry += rate / 4
	b.saved = min(b.saved+b.bears/4, b.bears*(b.saves+0.25))
	seen := Seen{No: b.no}
	for ; b.carry >= b.chunk; b.carry -= b.chunk {
		ok := min(b.chunk, math.Floor(b.saved))
		if b.rng.Float64() < b.noise {
			ok = 0
		}
		b.saved -= ok
		seen = seen.add(Seen{Tasks: 1, Sent: int64(b.chunk), Refused: int64(b.chunk - ok)})
		b.passed += ok
		b.missed += b.chunk - ok
	}
	b.no++
	if b.timed && seen.Refused > 0 {
		seen.Timed, seen.Until = seen.Refused, b.now()+s
	}
	var all []Seen
	if seen.Tasks > 0 {
		all = append(all, seen)
	}
	b.st = b.rule(b.now(), all, b.st, b.c)
	b.states = append(b.states, b.st)
}

func (b *bearer) now() int64 { return b.no * windowNanos }

func rules(t *testing.T, f func(t *testing.T, rule RateRule)) {
	t.Helper()
	for _, name := range RuleNames() {
		rule, err := RuleByName(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { f(t, rule) })
	}
}

func TestRuleFindsWhatIsLetThrough(t *testing.T) {
	for _, tt := range []struct {
		name               string
		rate, bears, saves float64
		demand             float64
	}{
		{"half of it", 10_000, 5000, 0.1, 0},
		{"a tenth of it", 10_000, 1000, 0.1, 0},
		{"nearly all of it", 10_000, 9500, 0.1, 0},
		{"with a second saved up", 10_000, 5000, 1, 0},
		{"of a low rate", 20, 5, 1, 0},
		{"without a configured rate", 0, 5000, 0.1, 12_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules(t, func(t *testing.T, rule RateRule) {
				b := newBearer(rule, RateConfig{Rate: tt.rate}, tt.bears)
				b.saves, b.demand = tt.saves, tt.demand
				b.run(120)
				b.passed, b.missed = 0, 0
				b.run(240)
				if got := b.passed / 240 / tt.bears; got < 0.85 {
					t.Errorf("%.3f of the capacity is used, want 0.85 at least: %s", got, b.st.Text)
				}
				if got := b.missed / (b.passed + b.missed); got > 0.08 {
					t.Errorf("%.3f of the items are refused, want 0.08 at most: %s", got, b.st.Text)
				}
			})
		})
	}
}

// Refusals are learned from five tasks at a time, which takes ten seconds here.
func TestEstimateFindsEvenARateBelowOneASecond(t *testing.T) {
	b := newBearer(Estimate, RateConfig{Rate: 2}, 0.5)
	b.saves = 3
	b.run(120)
	b.passed, b.missed = 0, 0
	b.run(600)
	if used, refused := b.passed/600/0.5, b.missed/(b.passed+b.missed); used < 0.85 || refused > 0.2 {
		t.Errorf("used %.2f and refused %.2f, want 0.85 at least and 0.2 at most: %s", used, refused, b.st.Text)
	}
}

func TestRuleComesBackToTheCeiling(t *testing.T) {
	rules(t, func(t *testing.T, rule RateRule) {
		b := newBearer(rule, RateConfig{Rate: 10_000}, 4000)
		b.run(60)
		if !b.st.Limited {
			t.Fatalf("not limited by a downstream that bears 4000: %+v", b.st)
		}
		b.bears = 1e6
		b.run(90)
		if b.st.Limited || b.st.Reason != Free {
			t.Errorf("still limited a minute and a half after the downstream bore all: %s", b.st.Text)
		}
	})
}

func TestAPartOfTheCeilingIsLearnedAsQuickly(t *testing.T) {
	b := newBearer(Estimate, RateConfig{Rate: 10_000}, 250) // a node that has a twentieth of the rate
	b.chunk, b.demand = 10, 500
	b.run(3)
	if !b.st.Limited || b.st.Rate > 260 {
		t.Errorf("rate %v after 3 s of 500/s, half of them refused: %s", b.st.Rate, b.st.Text)
	}
}

func TestALoweredCeilingIsKept(t *testing.T) {
	rules(t, func(t *testing.T, rule RateRule) {
		b := newBearer(rule, RateConfig{Rate: 10_000}, 5000)
		b.run(30)
		b.c.Rate = 100
		b.run(1)
		if b.st.Limited && b.st.Rate > 100 {
			t.Errorf("rate %v under a ceiling of 100: %s", b.st.Rate, b.st.Text)
		}
	})
}

func TestRuleStaysBetweenFloorAndCeiling(t *testing.T) {
	known := []Reason{Free, Cut, Holding, Growing, Restarted}
	rules(t, func(t *testing.T, rule RateRule) {
		rapid.Check(t, func(t *rapid.T) {
			c := RateConfig{Rate: rapid.SampledFrom([]float64{0, 0.5, 100, 10_000}).Draw(t, "rate")}
			var st RateState
			now := at0
			for range rapid.IntRange(1, 80).Draw(t, "steps") {
				now += rapid.Int64Range(1, 2*s).Draw(t, "pass")
				var seen []Seen
				for no := range rapid.Int64Range(0, 3).Draw(t, "windows") {
					x := Seen{No: now/windowNanos - no, Tasks: rapid.IntRange(1, 30).Draw(t, "tasks")}
					x.Sent = int64(x.Tasks) * rapid.Int64Range(1, 100).Draw(t, "items")
					x.Refused = rapid.Int64Range(0, x.Sent).Draw(t, "refused")
					if rapid.Bool().Draw(t, "timed") {
						x.Timed, x.Until = x.Refused, now+s
					}
					seen = append(seen, x)
				}
				if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
					st = Restart(now, st, c)
				}
				st = rule(now, seen, st, c)
				most := st.ceiling(c)
				if st.Limited && !(st.Rate >= most/1000 && st.Rate <= most) {
					t.Fatalf("rate %v, want between %v and %v: %s", st.Rate, most/1000, most, st.Text)
				}
				if !slices.Contains(known, st.Reason) || !strings.HasSuffix(st.Text, ".") || strings.Contains(st.Text, "%!") {
					t.Fatalf("reason %q, text %q: want a known reason and a sentence", st.Reason, st.Text)
				}
			}
		})
	})
}

func TestRateStateSurvivesBeingWrittenDown(t *testing.T) {
	rules(t, func(t *testing.T, rule RateRule) {
		forgetful := func(now int64, seen []Seen, st RateState, c RateConfig) RateState {
			text, err := json.Marshal(st)
			if err != nil {
				t.Fatal(err)
			}
			var read RateState
			if err := json.Unmarshal(text, &read); err != nil {
				t.Fatal(err)
			}
			return rule(now, seen, read, c)
		}
		a, b := newBearer(rule, RateConfig{Rate: 3000}, 1234), newBearer(forgetful, RateConfig{Rate: 3000}, 1234)
		a.run(60)
		b.run(60)
		if !reflect.DeepEqual(a.states, b.states) {
			t.Error("a state that was written and read again leads elsewhere")
		}
	})
}

func TestRefusalsThatAreNotAboutTheRateDoNotStrangle(t *testing.T) {
	for _, noise := range []float64{0.01, 0.05, 0.1} {
		b := newBearer(Estimate, RateConfig{Rate: 10_000}, 1e6)
		b.noise = noise
		b.run(60)
		b.passed = 0
		b.run(600)
		if got := b.passed / 600 / 10_000; got < 0.6 {
			t.Errorf("%.2f of the tasks are refused at any rate: %.2f of the rate is used, want 0.6 at least: %s", noise, got, b.st.Text)
		}
	}
}

func TestLackOfWorkIsNoRefusal(t *testing.T) {
	rules(t, func(t *testing.T, rule RateRule) {
		b := newBearer(rule, RateConfig{Rate: 10_000}, 10_000)
		b.demand = 300
		b.run(60)
		if b.st.Limited {
			t.Errorf("limited though nothing was refused: %s", b.st.Text)
		}
	})
}

func TestClosedDownstreamTellsNothingAboutItsRate(t *testing.T) {
	rules(t, func(t *testing.T, rule RateRule) {
		b := newBearer(rule, RateConfig{Rate: 1000}, 1000)
		b.run(5)
		b.bears, b.saved, b.timed = 0, 0, true
		b.run(20)
		if b.st.Rate < 200 || b.st.Rate > 1000 || b.st.Reason != Restarted {
			t.Errorf("rate after 20 s in which all was refused with a time: %v (%s), want about a quarter of 1000: %s", b.st.Rate, b.st.Reason, b.st.Text)
		}
	})
}

func TestRestartBeginsAtAQuarterAndGrowsAtOnce(t *testing.T) {
	b := newBearer(Estimate, RateConfig{Rate: 1000}, 1e6)
	b.run(5)
	b.st = Restart(b.now(), b.st, b.c)
	if b.st.Rate != 250 || b.st.Reason != Restarted {
		t.Errorf("restarted at %v (%s), want 250", b.st.Rate, b.st.Reason)
	}
	b.run(3)
	if b.st.Rate < 350 || b.st.Rate > 900 {
		t.Errorf("%v after 3 s, want it to have grown some of the way", b.st.Rate)
	}
	b.run(7)
	if b.st.Limited {
		t.Errorf("still at %v after 10 s, want the full rate", b.st.Rate)
	}
	if st := Restart(at0, RateState{}, RateConfig{}); st.Limited {
		t.Errorf("a rate of which nothing is known begins at %v, want no limit", st.Rate)
	}
}

func TestEchoOfACutDoesNotCutAgain(t *testing.T) {
	c := RateConfig{Rate: 1000}
	window := func(no int64) []Seen {
		return []Seen{{No: at0/windowNanos + no, Tasks: 25, Sent: 250, Refused: 125}}
	}
	st := Estimate(at0+2*windowNanos, window(0), RateState{}, c)
	st = Estimate(at0+3*windowNanos, window(1), st, c)
	first := st.Rate
	st = Estimate(at0+4*windowNanos, window(2), st, c) // sent before the cut arrived
	if first < 450 || first > 500 || st.Rate < first {
		t.Errorf("half of 1000/s was refused: rate %v, then %v; want just below 500, and no lower for what was sent before", first, st.Rate)
	}
}

func TestRuleByName(t *testing.T) {
	if rule, err := RuleByName(""); err != nil || reflect.ValueOf(rule).Pointer() != reflect.ValueOf(Estimate).Pointer() {
		t.Errorf("no name gives %v, %v; want the default", rule, err)
	}
	if _, err := RuleByName("guess"); err == nil || !strings.Contains(err.Error(), "estimate, aimd") {
		t.Errorf("error of an unknown name = %v, want one that lists the known", err)
	}
}

func BenchmarkEstimate(b *testing.B) {
	c := RateConfig{Rate: 10_000}
	var st RateState
	seen := make([]Seen, 1)
	no := at0 / windowNanos
	for b.Loop() {
		no++
		seen[0] = Seen{No: no, Tasks: 25, Sent: 2500, Refused: 50 * (no % 2)}
		st = Estimate((no+1)*windowNanos, seen, st, c)
	}
}

func TestARateGrowsAgainThoughACutJustBeforeTheClosureWasNotProved(t *testing.T) {
	st := after(Estimate, RateState{}, RateConfig{Rate: 400}, 0, [2]int{100, 0}, [2]int{100, 40})
	if !st.Limited || st.From == 0 {
		t.Fatalf("no cut to begin with: %+v", st)
	}
	no := at0/windowNanos + 2
	until := (no+1)*windowNanos + 5*s
	st = Estimate((no+1)*windowNanos, []Seen{{No: no, Tasks: 50, Sent: 50, Refused: 50, Timed: 50, Until: until}}, st, RateConfig{Rate: 400})
	low := st.Rate
	for range 80 { // 20 s
		no++
		var seen []Seen
		if sent := int(st.Rate / 4); no*windowNanos >= until {
			seen = []Seen{{No: no, Tasks: sent, Sent: int64(sent)}}
		}
		st = Estimate((no+1)*windowNanos, seen, st, RateConfig{Rate: 400})
	}
	if st.Limited {
		t.Errorf("%v items/s a quarter of a minute after the downstream has opened, %v when it did: %s", st.Rate, low, st.Text)
	}
}
