package experiment

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/core/flow"
)

// E14 is flow control: rules that do not know what the downstream bears come
// close to it, and a downstream that is slow, fails or hangs is left alone and
// found again.
func E14(size Size) []Line {
	seeds, ills := uint64(2), uint64(1)
	if size == Whole {
		seeds, ills = 20, 40
	}
	var lines []Line
	for _, bucket := range []time.Duration{100 * time.Millisecond, time.Second} {
		for _, p := range FlowProfiles() {
			lines = append(lines, hidden(p, bucket, seeds)...)
		}
	}
	lines = append(lines, oneTaskDeep(seeds)...)
	lines = append(lines, alternative(seeds)...)
	lines = append(lines, late(seeds)...)
	lines = append(lines, short(seeds), unrelated(0.01, seeds), unrelated(0.003, seeds))
	lines = append(lines, atRandom(size)...)
	lines = append(lines, hiddenLines(size)...)
	lines = append(lines, withTimes(seeds)...)
	lines = append(lines, shutOut(seeds)...)
	for _, ill := range sicknesses() {
		lines = append(lines, fallsSick(ill, ills)...)
	}
	return lines
}

// mustShow is why a slowly falling limit refuses a little more than it should.
const mustShow = "refusals have to show that they are about the rate before it is cut"

// sharesOf is the mean of several runs, changed by set before they begin. The
// constants of the rules were chosen on other seeds.
func sharesOf(p Profile, bucket time.Duration, rule flow.RateRule, seeds uint64, set func(*refuser)) (used, refused float64) {
	for seed := range seeds {
		w := newRefuser(p, bucket, rule, 1401+seed)
		if set != nil {
			set(w)
		}
		w.run()
		u, r := w.shares()
		used += u / float64(seeds)
		refused += r / float64(seeds)
	}
	return used, refused
}

// wants is the target of a profile.
func (p Profile) wants() (used, refused float64) {
	if p.Steps {
		return 80, 1.2
	}
	return 95, 0.5
}

func hidden(p Profile, bucket time.Duration, seeds uint64) []Line {
	used, refused := sharesOf(p, bucket, flow.Estimate, seeds, nil)
	wantUsed, wantRefused := p.wants()
	what := fmt.Sprintf("%s, bucket of %v: ", p.Name, bucket)
	u := Line{Target: 15, What: what + "used", Got: used, Want: wantUsed, AtLeast: true, Unit: " %"}
	r := Line{
		Target: 15, What: what + "refused", Got: refused, Want: wantRefused, Unit: " %",
		Missed: mustShow, Holds: 1.5 * wantRefused,
	}
	return []Line{u, r}
}

// oneTaskDeep is about a downstream that saves up no more than one task: nothing
// is promised there, and the figure of the design's model is held against it.
func oneTaskDeep(seeds uint64) (lines []Line) {
	for _, p := range FlowProfiles() {
		used, _ := sharesOf(p, 20*time.Millisecond, flow.Estimate, seeds, nil)
		lines = append(lines, Line{
			Target: 15, What: p.Name + ", bucket of 20ms, one task deep: used", Got: used, Want: 62, AtLeast: true, Unit: " %",
			Missed: "tasks that arrive up to 10 ms early or late overflow it at any rate; smaller tasks help", Holds: 35,
		})
	}
	return lines
}

// alternative is the worst of the profiles under AIMD.
func alternative(seeds uint64) []Line {
	used, refused, steps := 100.0, 0.0, 0.0
	for _, bucket := range []time.Duration{100 * time.Millisecond, time.Second} {
		for _, p := range FlowProfiles() {
			u, r := sharesOf(p, bucket, flow.AIMD, seeds, nil)
			if p.Steps {
				steps = max(steps, r)
				continue
			}
			used, refused = min(used, u), max(refused, r)
		}
	}
	const why = "the rule for downstreams that change fast: it asks all the time"
	return []Line{
		{Target: 15, What: "AIMD instead, worst of the slow profiles: used", Got: used, Want: 95, AtLeast: true, Unit: " %",
			Missed: why, Holds: 92},
		{Target: 15, What: "AIMD instead, worst of the slow profiles: refused", Got: refused, Want: 0.5, Unit: " %", Missed: why, Holds: 1.6},
		{Target: 15, What: "AIMD instead, 30 s steps: refused", Got: steps, Want: 1.2, Unit: " %", Missed: why, Holds: 3.5},
	}
}

// short is a profile whose phases of five minutes last two.
func short(seeds uint64) Line {
	p := Profile{For: 6 * time.Minute, At: inTurn(2*time.Minute, 10_000, 1500, 10_000)}
	used, _ := sharesOf(p, 100*time.Millisecond, flow.Estimate, seeds, nil)
	return Line{
		Target: 15, What: "10k, 1.5k, 10k for two minutes each, bucket of 100ms: used", Got: used, Want: 95, AtLeast: true, Unit: " %",
		Missed: "the way back from 1.5k takes up to half a minute, which counts for more here", Holds: 90,
	}
}

// unrelated is a downstream that bears everything and refuses some tasks all the same.
func unrelated(share float64, seeds uint64) Line {
	p := Profile{For: 10 * time.Minute, At: func(time.Duration) float64 { return 1e6 }}
	passed := 0.0
	for seed := range seeds {
		w := newRefuser(p, time.Second, flow.Estimate, 1401+seed)
		w.noise = share
		w.run()
		passed += float64(w.passed) / float64(seeds)
	}
	return Line{
		Target: 15, What: fmt.Sprintf("%v %% of tasks refused at any rate: rate used", 100*share),
		Got: 100 * passed / (flowRate * p.For.Seconds()), Want: 90, AtLeast: true, Unit: " %",
	}
}

// late is the worst of the profiles if decisions take another window to arrive, as
// they do in a cluster.
func late(seeds uint64) []Line {
	refused, steps := 0.0, 0.0
	for _, bucket := range []time.Duration{100 * time.Millisecond, time.Second} {
		for _, p := range FlowProfiles() {
			_, r := sharesOf(p, bucket, flow.Estimate, seeds, func(w *refuser) { w.delay = flow.Window })
			if p.Steps {
				steps = max(steps, r)
				continue
			}
			refused = max(refused, r)
		}
	}
	const why = "what is sent until the cut arrives is refused, twice as much as without the delay"
	return []Line{
		{Target: 15, What: "decisions 250 ms late, worst of the slow profiles: refused", Got: refused, Want: 0.5, Unit: " %",
			Missed: why, Holds: 1.1},
		{Target: 15, What: "decisions 250 ms late, 30 s steps: refused", Got: steps, Want: 1.2, Unit: " %", Missed: why, Holds: 2.2},
	}
}

// withTimes is the worst of the profiles when refusals come with a Retry-After.
func withTimes(seeds uint64) []Line {
	used, refused := 100.0, 0.0
	for _, p := range FlowProfiles() {
		if p.Steps {
			continue
		}
		u, r := sharesOf(p, 100*time.Millisecond, flow.Estimate, seeds, func(w *refuser) { w.timed = true })
		used, refused = min(used, u), max(refused, r)
	}
	return []Line{
		{Target: 15, What: "with Retry-After, worst of the slow profiles: used", Got: used, Want: 95, AtLeast: true, Unit: " %"},
		{Target: 15, What: "with Retry-After, worst of the slow profiles: refused", Got: refused, Want: 0.5, Unit: " %",
			Missed: mustShow, Holds: 0.75},
	}
}

// shutOut is a downstream that lets nothing through for half a minute and says to
// come back in 5 s.
func shutOut(seeds uint64) []Line {
	from, to := time.Minute, 90*time.Second
	p := Profile{For: 3 * time.Minute, At: func(t time.Duration) float64 {
		if t >= from && t < to {
			return 1e-3
		}
		return 5000
	}}
	refused, back := 0.0, time.Duration(0)
	for seed := range seeds {
		w := newRefuser(p, 100*time.Millisecond, flow.Estimate, 1401+seed)
		w.timed, w.shut = true, 5*time.Second
		w.run()
		again := p.For // unless a point shows it
		for _, x := range w.points {
			if x.At > from && x.At <= to {
				refused += x.Refused * flow.Window.Seconds() / float64(seeds)
			}
			if again == p.For && x.At > to && x.Passed >= 0.95*5000 {
				again = x.At - to
			}
		}
		back = max(back, again)
	}
	return []Line{
		{Target: 15, What: "closed for 30 s, Retry-After of 5 s: refused of what it bears otherwise",
			Got: 100 * refused / (5000 * 30), Want: 5, Unit: " %"},
		{Target: 15, What: "closed for 30 s, Retry-After of 5 s: back at full rate after", Got: back.Seconds(), Want: 30, Unit: " s"},
	}
}
