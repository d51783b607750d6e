package experiment

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/core/flow"
)

// E14 is flow control: rules that do not know what the downstream bears come
// close to it, and a downstream that is slow, fails or hangs is left alone and
// found again.
func E14(size Size) (lines []Line) {
	// The constants of the rules were chosen on other seeds.
	runs := seeds(1401, sized(size, 2, 20))
	for _, bucket := range buckets {
		for _, p := range FlowProfiles() {
			lines = append(lines, hidden(p, bucket, runs)...)
		}
	}
	lines = slices.Concat(lines, oneTaskDeep(runs), alternative(runs), late(runs), short(runs), unrelated(0.01, runs),
		unrelated(0.003, runs), atRandom(size), hiddenLines(size), withTimes(runs), shutOut(runs))
	for _, ill := range sicknesses() {
		lines = append(lines, over(seeds(1401, sized(size, 1, 40)), ill.lines)...)
	}
	return lines
}

const (
	// shallow is a bucket that is shorter than a rule takes to act, and deep one that is longer.
	shallow = 100 * time.Millisecond
	deep    = time.Second
	// mustShow is why a slowly falling limit refuses a little more than it should.
	mustShow = "refusals have to show that they are about the rate before it is cut"
)

var buckets = []time.Duration{shallow, deep}

// wants returns the target of a profile.
func (p Profile) wants() (used, refused float64) {
	if p.Steps {
		return 80, 1.2
	}
	return 95, 0.5
}

// shareLines returns the mean of several runs, changed by set before they begin.
func (p Profile) shareLines(what string, bucket time.Duration, rule flow.RateRule, runs []uint64, set func(*refuser)) []Line {
	return over(runs, func(seed uint64) []Line {
		w := newRefuser(p, bucket, rule, seed)
		if set != nil {
			set(w)
		}
		w.run()
		used, refused := w.shares()
		wantUsed, wantRefused := p.wants()
		return []Line{
			atLeast(15, what+"used", used, wantUsed, " %").taken(byMean),
			atMost(15, what+"refused", refused, wantRefused, " %").taken(byMean),
		}
	})
}

func hidden(p Profile, bucket time.Duration, runs []uint64) []Line {
	l := p.shareLines(fmt.Sprintf("%s, bucket of %v: ", p.Name, bucket), bucket, flow.Estimate, runs, nil)
	l[1] = l[1].missed(mustShow, 1.5*l[1].Want)
	return l
}

// oneTaskDeep is about a downstream that saves up no more than one task: nothing
// is promised there, and the figure of the design's model is held against it.
func oneTaskDeep(runs []uint64) (lines []Line) {
	const overflows = "tasks that arrive up to 10 ms early or late overflow it at any rate; smaller tasks help"
	for _, p := range FlowProfiles() {
		l := p.shareLines(p.Name+", bucket of 20ms, one task deep: ", 20*time.Millisecond, flow.Estimate, runs, nil)[0]
		l.Want = 62
		lines = append(lines, l.missed(overflows, 35))
	}
	return lines
}

// worstProfiles returns the worst of the slow profiles, and then those of the one in steps.
func worstProfiles(what string, depths []time.Duration, rule flow.RateRule, runs []uint64, set func(*refuser)) []Line {
	var slow, steps [][]Line
	for _, bucket := range depths {
		for _, p := range FlowProfiles() {
			to, name := &slow, ", worst of the slow profiles: "
			if p.Steps {
				to, name = &steps, ", 30 s steps: "
			}
			l := p.shareLines(what+name, bucket, rule, runs, set)
			*to = append(*to, []Line{l[0].taken(byWorst), l[1].taken(byWorst)})
		}
	}
	same := func(l []Line) []Line { return l }
	return append(over(slow, same), over(steps, same)...)
}

// alternative returns the worst of the profiles under AIMD.
func alternative(runs []uint64) []Line {
	l := worstProfiles("AIMD instead", buckets, flow.AIMD, runs, nil)
	const why = "the rule for downstreams that change fast: it asks all the time"
	return []Line{l[0].missed(why, 92), l[1].missed(why, 1.6), l[3].missed(why, 3.5)}
}

// late returns the worst of the profiles if decisions take another window to arrive, as
// they do in a cluster.
func late(runs []uint64) []Line {
	l := worstProfiles("decisions 250 ms late", buckets, flow.Estimate, runs, func(w *refuser) { w.delay = flow.Window })
	const why = "what is sent until the cut arrives is refused, twice as much as without the delay"
	return []Line{l[1].missed(why, 1.1), l[3].missed(why, 2.2)}
}

// withTimes returns the worst of the profiles when refusals come with a Retry-After.
func withTimes(runs []uint64) []Line {
	l := worstProfiles("with Retry-After", buckets[:1], flow.Estimate, runs, func(w *refuser) { w.timed = true })
	return []Line{l[0], l[1].missed(mustShow, 0.75)}
}

// short plays a profile whose phases of five minutes last two.
func short(runs []uint64) []Line {
	p := Profile{For: 6 * time.Minute, At: inTurn(2*time.Minute, 10_000, 1500, 10_000)}
	l := p.shareLines("10k, 1.5k, 10k for two minutes each, bucket of 100ms: ", shallow, flow.Estimate, runs, nil)[0]
	return []Line{l.missed("the way back from 1.5k takes up to half a minute, which counts for more here", 90)}
}

// unrelated plays a downstream that bears everything and refuses some tasks all the same.
func unrelated(share float64, runs []uint64) []Line {
	p := Profile{For: 10 * time.Minute, At: func(time.Duration) float64 { return 1e6 }}
	return over(runs, func(seed uint64) []Line {
		w := newRefuser(p, deep, flow.Estimate, seed)
		w.noise = share
		w.run()
		what := fmt.Sprintf("%v %% of tasks refused at any rate: rate used", 100*share)
		return []Line{atLeast(15, what, 100*float64(w.passed)/(flowRate*p.For.Seconds()), 90, " %").taken(byMean)}
	})
}

// shutOut plays a downstream that lets nothing through for half a minute and says to
// come back in 5 s.
func shutOut(runs []uint64) []Line {
	from, to := time.Minute, 90*time.Second
	p := Profile{For: 3 * time.Minute, At: func(t time.Duration) float64 {
		if t >= from && t < to {
			return 1e-3
		}
		return 5000
	}}
	return over(runs, func(seed uint64) []Line {
		w := newRefuser(p, shallow, flow.Estimate, seed)
		w.timed, w.shut = true, 5*time.Second
		w.run()
		refused, back := 0.0, p.For // unless a point shows it
		for _, x := range w.points {
			if x.At > from && x.At <= to {
				refused += x.Refused * flow.Window.Seconds()
			}
			if back == p.For && x.At > to && x.Passed >= 0.95*5000 {
				back = x.At - to
			}
		}
		const what = "closed for 30 s, Retry-After of 5 s: "
		return []Line{
			atMost(15, what+"refused of what it bears otherwise", 100*refused/(5000*30), 5, " %").taken(byMean),
			atMost(15, what+"back at full rate after", back.Seconds(), 30, " s"),
		}
	})
}
