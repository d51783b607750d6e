package model

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// Result is what came of a world.
type Result struct {
	World string `json:"world,omitempty"`
	Seed  uint64 `json:"seed"`
	// Policy is the rule that decided about workers.
	Policy string `json:"policy"`
	// End is when the last item ended, or when watching did; Finished says which.
	End       Span             `json:"end"`
	Finished  bool             `json:"finished"`
	Kinds     []KindResult     `json:"bulk_actions"`
	Resources []ResourceResult `json:"resources"`
	Tenants   []TenantResult   `json:"tenants"`
	// Jain is Jain's index of the tenants' shares relative to their weights, while
	// they competed: 1 is perfectly fair. 1 as well if no tenants competed.
	Jain float64 `json:"jain"`
	// Curve is what each tenant got, over time.
	Curve Curve `json:"-"`
	// Tasks is how many were started.
	Tasks int `json:"-"`
}

// KindResult is what came of one entry of the world's bulk actions: one, or a stream of them.
type KindResult struct {
	Name   string `json:"name"`
	Tenant string `json:"tenant"`
	// Count is how many came, and Open how many of them had not ended.
	Count  int   `json:"count"`
	Open   int   `json:"open,omitempty"`
	Items  int64 `json:"items"`
	Done   int64 `json:"done"`
	Failed int64 `json:"failed"`
	// Cancelled counts the items that were left at deadlines, and Missed the bulk actions that had some.
	Cancelled int64 `json:"cancelled,omitempty"`
	Missed    int   `json:"missed,omitempty"`
	// Finish is when the last one ended. Took is from submit to end, Slowdown that time
	// as a multiple of what it would take with everything to itself; both of those that ended.
	Finish      Span    `json:"finish"`
	TookP50     Span    `json:"took_p50"`
	TookP99     Span    `json:"took_p99"`
	SlowdownP50 float64 `json:"slowdown_p50"`
	SlowdownP99 float64 `json:"slowdown_p99"`
	// Most is when all but the last few items of the first one had ended, without the
	// luck of those that are tried again and again; see MostOf.
	Most Span `json:"-"`
	// Waited is the share of their time in which work waited for each reason.
	Waited []Wait `json:"waited,omitempty"`
	// Steps is what was sent at each step.
	Steps []StepResult `json:"steps"`
	// Each is every one of them, in order of arrival.
	Each []BulkResult `json:"each"`
}

// StepResult is what was sent at a step: so many calls, and so many items in them.
type StepResult struct {
	Calls int64 `json:"calls"`
	Items int64 `json:"items"`
}

// BulkResult is what came of one bulk action.
type BulkResult struct {
	Tenant string `json:"tenant"`
	Items  int64  `json:"items"`
	Done   int64  `json:"done"`
	Failed int64  `json:"failed"`
	// At is when it came, Start when its first task started and Finish when its last ended; -1ns: never.
	At     Span `json:"at"`
	Start  Span `json:"start"`
	Finish Span `json:"finish"`
	// Slowdown is 0 for one that did not end.
	Slowdown float64 `json:"slowdown"`
	// Cancelled is how many items were left at its deadline, and Late when it was known that some will be.
	Cancelled int64 `json:"cancelled,omitempty"`
	Late      Span  `json:"late,omitempty"`
}

// Wait is a reason to wait, in the words of reports, at which resource, and in
// which share of the time.
type Wait struct {
	Reason   string  `json:"reason"`
	Resource string  `json:"resource,omitempty"`
	Share    float64 `json:"share"`
	// Own says that the rate or concurrency is the bulk action's own, and Tenant that it is its tenant's. Default: the resource's.
	Own    bool `json:"own,omitempty"`
	Tenant bool `json:"tenant,omitempty"`
}

// ResourceResult is what a resource had to do.
type ResourceResult struct {
	Name        string `json:"name"`
	Rate        Rate   `json:"rate,omitempty"`
	Concurrency int    `json:"concurrency,omitempty"`
	// Calls is how many calls started.
	Calls int64 `json:"calls"`
	Items
	// Use is the share of the rate that was used while there was work; 0 without a rate.
	Use float64 `json:"use"`
	// Peak is the most items that started within any window of a second, per second.
	Peak float64 `json:"peak"`
	// WorkersPeak is the most workers at once, WorkerSeconds their sum over time, and
	// Reversals how often their number turned from growing to shrinking or back.
	WorkersPeak   int   `json:"workers_peak"`
	WorkerSeconds int64 `json:"worker_seconds"`
	Reversals     int   `json:"reversals"`
	// Seconds is the resource over time.
	Seconds []Second `json:"seconds"`
}

// TenantResult is what a tenant got.
type TenantResult struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
	Done   int64   `json:"done"`
	// Share is what it got of what it was due by its weight, while it competed with
	// others of its tier; 0 if it never did.
	Share float64 `json:"share"`
}

func (m *machine) result() Result {
	out := Result{
		World: m.w.Name, Seed: m.w.Seed, Policy: policyName(m.w.Workers.Policy),
		End: Span(m.Now()), Finished: m.open == 0 && m.coming == 0, Curve: m.curve.named(m.order), Tasks: m.tasks,
	}
	for _, s := range m.streams {
		out.Kinds = append(out.Kinds, s.result())
	}
	if out.Finished {
		out.End = 0
		for _, k := range out.Kinds {
			out.End = max(out.End, k.Finish)
		}
	}
	for _, r := range m.resources {
		out.Resources = append(out.Resources, r.result())
	}
	out.Tenants, out.Jain = m.fairness()
	return out
}

func (s *stream) result() KindResult {
	k := KindResult{Name: s.Name, Tenant: s.Tenant, Count: len(s.bulks), Steps: s.sent}
	var took []int64
	var slow []float64
	for _, b := range s.bulks {
		x := b.result()
		k.Each = append(k.Each, x)
		k.Items, k.Done, k.Failed = k.Items+x.Items, k.Done+x.Done, k.Failed+x.Failed
		k.Finish = max(k.Finish, x.Finish)
		if x.Cancelled > 0 {
			k.Cancelled += x.Cancelled
			k.Missed++
		}
		if x.Finish < 0 {
			k.Open++
		} else {
			took, slow = append(took, int64(x.Finish-x.At)), append(slow, x.Slowdown)
		}
		b.tenant.done += b.done
	}
	k.TookP50, k.TookP99 = Span(virtual.Quantile(took, 0.5)), Span(virtual.Quantile(took, 0.99))
	k.SlowdownP50, k.SlowdownP99 = virtual.Quantile(slow, 0.5), virtual.Quantile(slow, 0.99)
	if len(s.bulks) > 0 {
		k.Most = Span(s.bulks[0].most)
	}
	k.Waited = s.waits()
	return k
}

func (b *bulk) result() BulkResult {
	x := BulkResult{
		Tenant: b.tenant.name, Items: b.items, Done: b.done, Failed: b.failed,
		At: Span(b.at), Start: Span(b.first), Finish: Span(b.end), Late: Span(b.late),
	}
	if b.end >= 0 {
		x.Cancelled = b.items - b.done - b.failed
		x.Slowdown = float64(b.end-b.at) / b.alone()
	}
	return x
}

// alone returns about how long a bulk action would take with the whole world to itself
// and the same answers of the downstream, in nanoseconds: its slowest step, and one
// call of every other.
func (b *bulk) alone() float64 {
	slots := 0
	for _, n := range b.m.w.Nodes {
		slots += n.Slots
	}
	slowest, first := 0.0, 0.0
	for i, s := range b.pieces[0].steps {
		r := s.lane.res
		atOnce := min(slots, b.m.w.Workers.Max*len(b.pieces))
		if r.Concurrency > 0 {
			atOnce = min(atOnce, r.Concurrency)
		}
		call := float64(b.calls[i].sum) / float64(max(b.calls[i].number, 1))
		took := max(float64(b.calls[i].sum)/float64(atOnce), float64(b.calls[i].longest))
		for _, rate := range []Rate{r.Rate, b.own(i)} {
			if rate > 0 {
				took = max(took, float64(b.items-int64(s.chunk))/float64(rate)*float64(second)+call)
			}
		}
		first += call
		slowest = max(slowest, took-call)
	}
	return max(slowest+first, 1)
}

// waits turns counts of looks into shares, the largest first.
func (s *stream) waits() (out []Wait) {
	for i, counts := range s.waited {
		by := map[string]int{}
		for c, n := range counts {
			w := Wait{Reason: waitingOn(c), Resource: s.Steps[i], Share: float64(n) / float64(s.looks)}
			w.Own, w.Tenant = c == causePace || c == int(sched.CauseBulkCap), c == int(sched.CauseTenantCap)
			switch {
			case !w.Own && !w.Tenant:
				by[w.Reason] += n
			case n > 0:
				out = append(out, w)
			}
		}
		for _, w := range []string{"rate", "concurrency", "no_workers", "fair_share", "circuit_open", "first_call", "retry"} {
			if by[w] > 0 {
				out = append(out, Wait{Reason: w, Resource: s.Steps[i], Share: float64(by[w]) / float64(s.looks)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Wait) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

func (r *resource) result() ResourceResult {
	x := ResourceResult{
		Name: r.Name, Rate: r.Rate, Concurrency: r.Concurrency, Calls: r.calls, Items: r.all,
		Peak: float64(r.meter.Most) / seconds(Span(r.meter.Window)), Seconds: r.series,
	}
	if r.Rate > 0 && r.busy > 0 {
		x.Use = float64(r.all.Started) / (float64(r.Rate) * seconds(Span(r.busy)))
	}
	last, way := 0, 0
	for _, s := range r.series {
		x.WorkersPeak = max(x.WorkersPeak, s.Workers)
		x.WorkerSeconds += int64(s.Workers)
		if turn := cmp.Compare(s.Workers, last); turn != 0 && last > 0 {
			if way != 0 && turn != way {
				x.Reversals++
			}
			way = turn
		}
		last = s.Workers
	}
	return x
}

// toldBy is how many tasks a tenant must have been due for its share to tell
// something: one task more or less is the grain of it all.
const toldBy = 50

// fairness tells what each tenant got of what it was due, and Jain's index of
// these, without those who were due too little to tell.
func (m *machine) fairness() (out []TenantResult, jain float64) {
	var shares []float64
	for _, t := range m.order {
		x := TenantResult{Name: t.name, Weight: t.weight, Done: t.done}
		var got, due float64
		for _, r := range m.resources {
			for rank := range sched.Tiers {
				if s := t.shares[shareKey{r.no, rank}]; s != nil && s.due >= float64(toldBy*r.lanes[0].chunk) {
					got, due = got+s.got, due+s.due
				}
			}
		}
		if due > 0 {
			x.Share = got / due
			shares = append(shares, x.Share)
		}
		out = append(out, x)
	}
	return out, virtual.Jain(shares)
}
