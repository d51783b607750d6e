package forecast

import (
	"math"
	"slices"
	"time"
)

// Forecast is what will come of some work.
type Forecast struct {
	Items int64
	Steps []StepForecast
	// P50 and P90 are from the start to the end: half of all times it is done by
	// P50, nine times of ten by P90.
	P50, P90 time.Duration
	// NoEnd reports that no item would complete under current conditions: P50 and P90 mean nothing then.
	NoEnd      bool
	Bottleneck Bottleneck
	// Clashes are the resources that it shares with work of others, most crowded first.
	Clashes []Clash
	// Deadline says whether it will be kept.
	Deadline Deadline
	// Workers are the most at once on each resource of the steps.
	Workers []Workers
	// Curve is what each tenant gets while it is done.
	Curve Curve
	// Assumptions are sentences.
	Assumptions []string
}

// StepForecast is one step.
type StepForecast struct {
	Name     string
	Action   string
	Resource string
	// Items reach it, in so many calls, at so many items per second for so long.
	Items    int64
	Calls    int64
	Rate     float64
	Duration time.Duration
}

// Deadline says whether a deadline will be kept.
type Deadline string

// The answers.
const (
	NoDeadline Deadline = ""
	Holds      Deadline = "holds"   // even by P90
	AtRisk     Deadline = "at_risk" // by P50 only
	Missed     Deadline = "missed"
)

const (
	seeds       = 5 // runs of what is expected, if they are short
	unluckSeeds = 2 // runs of what is rather worse
	// fewTasks is how many tasks a run should have, about, and mostTasks how many all
	// runs of a sample may have. mostTime is how long one should be, in virtual time.
	fewTasks  = 12_000
	mostTasks = 20_000
	mostTime  = 15 * time.Minute
	// leftTasks is the same for what is asked again and again while the work is done.
	// The less it has, the more often it is played, up to mostTries times.
	leftTasks = 2_000
	mostTries = 7
	// leastTasks is how many a run may have, however few the first had.
	leastTasks = 500
	// beyond is how far a run may go beyond what was planned.
	beyond = 2
	// never is the longest time that is told, in seconds.
	never = 1e9
	// unseen is the share by which times differ for reasons that no model has.
	unseen = 0.03
)

// Of tells what will come of some work under a load. The error is a *weir.InputError.
func Of(w Work, l Load) (Forecast, error) {
	if err := check(&w, &l); err != nil {
		return Forecast{}, err
	}
	p, err := newPlan(w, l, fewTasks)
	if err != nil {
		return Forecast{}, err
	}
	expected, err := p.play(p.world(1), seeds)
	if err != nil {
		return Forecast{}, err
	}
	worse, err := p.play(p.world(unlucky), unluckSeeds)
	if err != nil {
		return Forecast{}, err
	}
	f := Forecast{Items: w.Items}
	f.NoEnd = p.hopeless() || expected.drawn() >= never
	f.P50, f.P90 = p.finish(expected, worse)
	f.Clashes = p.clashes(expected)
	f.Steps = p.steps(f.Clashes, expected.large.runs)
	reconcile(f.Steps, f.P50)
	f.Bottleneck = p.bottleneck(expected.large.runs)
	f.Workers, f.Curve = p.workers(expected.large.runs), p.curve(expected)
	f.Deadline = deadline(w.Deadline, f.P50, f.P90)
	if f.NoEnd {
		f.P50, f.P90, f.Deadline = 0, 0, deadline(w.Deadline, never*time.Second, never*time.Second)
		for i := range f.Steps {
			f.Steps[i].Rate, f.Steps[i].Duration = 0, 0
		}
	}
	f.Assumptions = p.says
	return f, nil
}

// Left tells how long what is left of some work takes: the same as P50 of [Of], from
// fewer runs, at a fraction of its cost and a little less exact. It says
// false if it would not end as things are.
func Left(w Work, l Load) (time.Duration, bool, error) {
	if err := check(&w, &l); err != nil {
		return 0, false, err
	}
	p, err := newPlan(w, l, leftTasks)
	if err != nil {
		return 0, false, err
	}
	seeds := 1
	if p.first.took != nil { // the less there is, the more luck matters, and the less a try costs
		seeds = min(max(3*leftTasks/max(p.first.runs[0].Tasks, 1), 1), mostTries)
	}
	run, err := p.play(p.world(1), seeds)
	if err != nil {
		return 0, false, err
	}
	left := run.drawn()
	return seconds(left), left < never && !p.hopeless(), nil
}

// hopeless reports whether no call of a step succeeds as things are, and says so.
func (p *plan) hopeless() (yes bool) {
	for _, s := range p.w.Steps {
		if p.l.resource(s.Resource).Failures >= 1 {
			p.say("No call of %s has succeeded: its duration cannot be forecast.", s.Resource)
			yes = true
		}
	}
	return yes
}

func deadline(at, p50, p90 time.Duration) Deadline {
	switch {
	case at == 0:
		return NoDeadline
	case p90 <= at:
		return Holds
	case p50 <= at:
		return AtRisk
	}
	return Missed
}

// finish tells the times. The luck of single calls evens out with the number of
// them; what was assumed wrongly does not.
func (p *plan) finish(expected, worse line) (p50, p90 time.Duration) {
	half := expected.drawn()
	luck := (slices.Max(expected.large.took) - middle(expected.large.took)) * math.Sqrt(p.shrink)
	wrong := max(worse.drawn()-half, 0)
	switch {
	case half >= never:
		p.say("No item completed in the simulated time: under current conditions it does not end.")
	case p.cut:
		p.say("The simulation stopped before its end: the rest is extrapolated.")
	}
	return seconds(half), seconds(half + math.Hypot(math.Hypot(luck, wrong), unseen*half))
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s, never) * float64(time.Second)).Round(time.Millisecond)
}
