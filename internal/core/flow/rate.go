package flow

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// RateRule learns from refusals which rate a downstream lets pass. It must be called every
// [Window], also if no window has settled, because growth goes with time. The windows are sums
// over all nodes, in order, each given once.
type RateRule func(now int64, seen []Seen, st RateState, c RateConfig) RateState

// RateConfig holds an operator's settings for the rate of a resource.
type RateConfig struct {
	// Rate is the ceiling in items per second: of the resource, or of the node's part of it if
	// the windows are those of one node. 0 means unlimited: then the highest rate observed is
	// the ceiling.
	Rate float64
}

// RateState holds a rule's decision and memory. The zero value is the initial state. It can be
// stored as JSON.
type RateState struct {
	// Limited reports whether Rate, in items per second, is in force.
	Limited bool    `json:"limited"`
	Rate    float64 `json:"rate"`
	// Reason and Text explain the rate.
	Reason Reason `json:"reason"`
	Text   string `json:"text"`

	// Top is the observed ceiling, for resources without a configured one.
	Top float64 `json:"top,omitempty"`
	// Found is the rate that passed at the last refusals, and Last the one before.
	Found float64 `json:"found,omitempty"`
	Last  float64 `json:"last,omitempty"`
	// Since is when Found was set, Hold for how long (in nanoseconds) the rate stays near it,
	// and Begin the share of it to start with.
	Since int64   `json:"since,omitempty"`
	Hold  int64   `json:"hold,omitempty"`
	Begin float64 `json:"begin,omitempty"`
	// Grown counts the growth steps since, and Ahead those that were skipped.
	Grown int `json:"grown,omitempty"`
	Ahead int `json:"ahead,omitempty"`
	// Run, RunSpan and RunPassed sum up the consecutive windows with refusals, without the
	// first: their number, their seconds, and the items that passed.
	Run       int     `json:"run,omitempty"`
	RunSpan   float64 `json:"runSpan,omitempty"`
	RunPassed float64 `json:"runPassed,omitempty"`
	// RunTasks counts the tasks of all of them, and Evidence is how strongly they speak for
	// more refusals than the base.
	RunTasks weight  `json:"runTasks"`
	Evidence float64 `json:"evidence,omitempty"`
	// Base is the share of refusals that was shown not to depend on the rate. It is tested
	// again at Until, BaseFor after it was shown. Usual counts what is sent under it.
	Base    float64 `json:"base,omitempty"`
	Until   int64   `json:"until,omitempty"`
	BaseFor int64   `json:"baseFor,omitempty"`
	Usual   weight  `json:"usual"`
	// Expect is the share that would be refused after cuts were taken back if that was wrong;
	// 0: it has proved right.
	Expect float64 `json:"expect,omitempty"`
	// From is the rate before the cuts that have not proved themselves yet, 0 for none, and
	// First the one before earlier rows of such cuts. Doubted reports that the cuts once seemed
	// not to help. Row is what passed in all, Before what was sent and refused before the cuts,
	// After right after them, and Fresh the number of tasks after the last cut.
	From    float64 `json:"from,omitempty"`
	First   float64 `json:"first,omitempty"`
	Row     row     `json:"row"`
	Doubted bool    `json:"doubted,omitempty"`
	Before  weight  `json:"before"`
	After   weight  `json:"after"`
	Fresh   float64 `json:"fresh,omitempty"`
	// Proof is when a cut last proved itself.
	Proof int64 `json:"proof,omitempty"`
	// Shut is the rate that was in force before the downstream closed completely, 0 while it is
	// open.
	Shut float64 `json:"shut,omitempty"`
	// Part collects windows with too few tasks to judge, and PartSpan is their seconds.
	Part     Seen    `json:"part"`
	PartSpan float64 `json:"partSpan,omitempty"`
}

// namedRules lists the rules in the order of [RuleNames].
func namedRules() []struct {
	name string
	rule RateRule
} {
	return []struct {
		name string
		rule RateRule
	}{{"estimate", Estimate}, {"aimd", AIMD}}
}

// RuleNames lists the known rules, the default first.
func RuleNames() []string {
	var names []string
	for _, r := range namedRules() {
		names = append(names, r.name)
	}
	return names
}

// RuleByName returns the rule of that name. An empty name stands for the default.
func RuleByName(name string) (RateRule, error) {
	if name == "" {
		return Estimate, nil
	}
	for _, r := range namedRules() {
		if r.name == name {
			return r.rule, nil
		}
	}
	return nil, fmt.Errorf("rate rule %q is not known: give one of %s", name, strings.Join(RuleNames(), ", "))
}

// fewTasks is the number of tasks below which a window alone tells too little.
const fewTasks = 5

// sample is one window, or several with few tasks, as a rule evaluates it.
type sample struct {
	no     int64 // of the first window
	tasks  int
	alike  float64 // equivalent number of tasks of equal size
	span   float64 // seconds
	sent   float64
	passed float64
	closed bool // all was refused with a Retry-After
}

func (s sample) rate() float64    { return s.sent / s.span }
func (s sample) refused() float64 { return (s.sent - s.passed) / s.sent }

// collect adds a window to those with too few tasks, and returns the sample once there are
// enough. Time between two windows counts only as far as the rate in force explains it: a pause
// for lack of work says nothing about the downstream.
func (st RateState) collect(s Seen, c RateConfig) (RateState, sample, bool) {
	if s.Sent == 0 {
		return st, sample{}, false
	}
	one := Window.Seconds()
	if st.Part.Tasks == 0 {
		st.Part, st.PartSpan = s, one
	} else {
		gap := float64(s.No-st.Part.Until) * one
		if rate := st.inForce(c); rate > 0 {
			gap = min(gap, max(one, 2*float64(s.Sent)/float64(s.Tasks)/rate))
		} else {
			gap = one
		}
		first := st.Part.No
		st.Part = st.Part.add(s)
		st.Part.No = first
		st.PartSpan += max(gap, one)
	}
	st.Part.Until = s.No // here: the last window in it
	if st.Part.Tasks < fewTasks {
		return st, sample{}, false
	}
	p := st.Part
	out := sample{no: p.No, tasks: p.Tasks, alike: p.alike(), span: st.PartSpan, sent: float64(p.Sent),
		passed: float64(p.Sent - p.Refused), closed: p.closed()}
	st.Part, st.PartSpan = Seen{}, 0
	return st, out, true
}

// look takes a window in and returns the sample once there are enough tasks, unless the sample
// only shows that the downstream is closed.
func (st RateState) look(s Seen, c RateConfig) (RateState, sample, bool) {
	if st.Shut > 0 && s.closed() {
		return st.shut(s, c), sample{}, false
	}
	st, x, ok := st.collect(s, c)
	switch {
	case !ok:
		return st, x, false
	case x.closed:
		return st.shut(s, c), x, false
	}
	return st.watch(x), x, true
}

// inForce returns the rate in force, 0 if there is none.
func (st RateState) inForce(c RateConfig) float64 {
	if st.Limited {
		return st.Rate
	}
	return c.Rate
}

// exceeded returns the rate that was too high: the one in force, or else the highest rate sent
// lately, as a node may use only a part of the configured rate. A single window may have had
// little to send.
func (st RateState) exceeded(c RateConfig) float64 {
	switch {
	case st.Limited:
		return st.Rate
	case c.Rate > 0:
		return min(c.Rate, st.Top)
	}
	return st.Top
}

// Skip moves the rate's times on by a span in which nothing was learned.
func (st RateState) Skip(span int64) RateState {
	if st.Limited {
		st.Since += span
		st.Row.Began += span
	}
	return st
}

// ceiling returns the rate from which on no limit applies.
func (st RateState) ceiling(c RateConfig) float64 { return cmp.Or(c.Rate, st.Top) }

// floor keeps a rate from vanishing: without tasks there is nothing to learn from.
func (st RateState) floor(rate float64, c RateConfig) float64 { return max(rate, st.least(c)) }

// least is the lowest rate that a rule sets.
func (st RateState) least(c RateConfig) float64 { return st.ceiling(c) / 1000 }

// watch records the highest rate sent without a limit: the ceiling of a resource that has no
// configured one. It forgets slowly. A task that passes also shows that the downstream is open.
func (st RateState) watch(s sample) RateState {
	if s.passed > 0 {
		st.Shut = 0
	}
	st.Row.Passed += s.passed
	if !st.Limited {
		st.Top = max(s.rate(), 0.999*st.Top)
	}
	return st
}

// told sets the reason and the sentence.
func (st RateState) told(why Reason, format string, args ...any) RateState {
	st.Reason, st.Text = why, fmt.Sprintf(format, args...)
	return st
}

// free returns the state without a limit. It keeps the evidence about refusals.
func (st RateState) free(text string) RateState {
	st.Limited, st.Rate, st.Found, st.Since, st.Hold, st.Begin, st.Grown, st.Ahead, st.Shut = false, 0, 0, 0, 0, 0, 0, 0, 0
	return st.trusted().told(Free, "%s", text)
}

// Restart lets a rate start low and grow at once: after a breaker has closed again, the first
// second must not release the whole backlog.
func Restart(now int64, st RateState, c RateConfig) RateState {
	was := st.inForce(c)
	if was == 0 {
		was = st.Top
	}
	if was == 0 {
		return st.free("unlimited: nothing is known to begin lower than.")
	}
	st = st.quarter(was, c)
	st.Since = now - st.Hold
	return st.told(Restarted, "%s items/s, a quarter of %s, growing: the breaker has closed again.", figure(st.Rate), figure(was))
}

// Lift removes the limit: a [Parallel] found another cause of the refusals.
func (st RateState) Lift() RateState {
	st.Evidence, st.Usual, st.Proof = 0, weight{}, 0
	return st.newRun().free("not limited: the rate is not why calls are refused.")
}

// quarter starts at a quarter of a rate that passed before, ready to grow at its fastest.
// Earlier cuts need no proof any more.
func (st RateState) quarter(was float64, c RateConfig) RateState {
	st = st.trusted()
	st.Limited, st.Hold, st.Begin, st.Run = true, firstHold, 1, 0
	st.Ahead, st.Grown = askSteps+3, askSteps+3
	st.Rate = st.floor(was/4, c)
	st.Found = st.Rate
	return st
}

// shut handles a window in which all was refused with a Retry-After: the downstream is closed,
// which says nothing about its rate. After that time the rate starts low.
func (st RateState) shut(s Seen, c RateConfig) RateState {
	was := st.inForce(c)
	if was == 0 {
		was = st.Top
	}
	if was == 0 {
		return st
	}
	st.Shut = cmp.Or(st.Shut, was)
	st = st.quarter(st.Shut, c)
	st.Since = max(st.Since, s.back()-st.Hold)
	return st.told(Restarted, "%s items/s once the downstream is open again: all items are refused with a time to come "+
		"back.", figure(st.Rate))
}

// Blocks returns until when a resource must not be called because of a window that the rule has
// seen: as [Seen.Block] says, or because the downstream is known to be closed and refused a few
// more tasks.
func (st RateState) Blocks(s Seen) (until int64, blocked bool) {
	if st.Shut > 0 && s.closed() {
		return s.back(), true
	}
	return s.Block()
}

// waits reports whether the downstream asked for a pause that is not over.
func (st RateState) waits(now int64) bool { return st.Shut > 0 && now < st.Since+st.Hold }

// figure formats a rate with its significant digits.
func figure(f float64) string {
	if f >= 100 {
		return fmt.Sprintf("%.0f", f)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.3g", f), ".0")
}

// inOrder returns the windows sorted by number. It does not change the caller's slice.
func inOrder(seen []Seen) []Seen {
	byNo := func(a, b Seen) int { return cmp.Compare(a.No, b.No) }
	if slices.IsSortedFunc(seen, byNo) {
		return seen
	}
	seen = slices.Clone(seen)
	slices.SortStableFunc(seen, byNo)
	return seen
}

// seconds formats a span of nanoseconds in seconds.
func seconds(nanos int64) string { return figure(math.Round(float64(nanos)/1e8)/10) + " s" }
