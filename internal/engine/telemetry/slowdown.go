package telemetry

import (
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// sizeClasses are the bulk actions whose slowdown is counted apart: those with up to so many items.
var sizeClasses = [...]struct {
	label string
	most  int64 // 0: no bound
}{{"up_to_1k", 1000}, {"up_to_10k", 10_000}, {"up_to_100k", 100_000}, {"above_100k", 0}}

// sizeClass returns the index of the class of bulk actions with so many items.
func sizeClass(items int64) int {
	for i, c := range sizeClasses {
		if items <= c.most {
			return i
		}
	}
	return len(sizeClasses) - 1
}

// leastTime is what a bulk action counts as needing at least: how often a few milliseconds were doubled tells nothing.
const leastTime = time.Second

// pace holds what the time of a bulk action depends on that has the system to itself.
type pace struct {
	whole       bool          // it was seen from its creation on
	halted      time.Duration // it was paused or stopped, or waited for an approval
	rate        float64       // lowest of its steps, in items per second; 0: none has one
	concurrency int           // lowest of its steps; 0: none has one
	calls       []service     // by step
}

// service is the run time of the calls of a step.
type service struct {
	n    int64
	took time.Duration
}

// look notes what bounds a bulk action, and whether it is halted. span is the time since the look before.
func (p *pace) look(span time.Duration, h *partition.Held) {
	p.rate, p.concurrency = h.Rate, h.Concurrency
	switch h.State {
	case weir.BulkPaused, weir.BulkStopped, weir.BulkAwaiting:
		p.halted += span
	}
}

// called notes a call of a step.
func (p *pace) called(step int, took time.Duration) {
	if step < len(p.calls) {
		p.calls[step].n++
		p.calls[step].took += took
	}
}

// alone returns how long the bulk action would have taken by itself with so many slots: one call of each step after
// another, and beside that the rest of the step that needs most, as fast as rate, concurrency and slots allow.
// Calls take as long as those that were seen. 0: none was.
func (p *pace) alone(steps []weir.StepCounts, slots int) time.Duration {
	width := float64(max(slots, 1))
	if p.concurrency > 0 {
		width = min(width, float64(p.concurrency))
	}
	first, rest := 0.0, 0.0
	for i := range min(len(steps), len(p.calls)) {
		s, c := &steps[i], &p.calls[i]
		if c.n == 0 || s.Calls == 0 {
			continue
		}
		one := c.took.Seconds() / float64(c.n)
		first += one
		rest = max(rest, one*float64(s.Calls-1)/width)
		if p.rate > 0 {
			rest = max(rest, float64(s.Attempts)*(1-1/float64(s.Calls))/p.rate)
		}
	}
	return time.Duration((first + rest) * float64(time.Second))
}

// slowed counts a bulk action that has completed by how many times longer it took than it would have taken alone.
func (t *Counter) slowed(k *counted, v *weir.Progress) {
	if !k.whole || v.State != weir.BulkCompleted || v.Started.IsZero() {
		return
	}
	alone := k.alone(v.Steps, t.slots)
	if alone == 0 {
		return // it called nothing here
	}
	took := v.Finished.Sub(v.Started) + k.inbox - k.halted
	t.slowdown[sizeClass(v.Counts.Total)].add(max(took.Seconds()/max(alone, leastTime).Seconds(), 1), 1)
}
