package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/lab/model"
)

// Bottleneck is what a bulk action waits for most.
type Bottleneck struct {
	Kind     Kind
	Resource string
	// Value is the limit as people write it: 300/s, 32 at once, 64 workers, 12s a call.
	Value string
	// Of says whose limit it is. Default: the resource's.
	Of Owner
}

// Owner says whose a limit is.
type Owner string

// The owners other than the resource.
const (
	OfBulkAction Owner = "bulk_action"
	OfTenant     Owner = "tenant"
)

// Kind is a kind of bottleneck.
type Kind string

// The kinds.
const (
	ByRate        Kind = "rate"
	ByConcurrency Kind = "concurrency"
	ByWorkers     Kind = "workers"
	ByService     Kind = "service" // nothing but the time that calls take
)

// Clash is a resource that is shared with work of others.
type Clash struct {
	Resource string
	// Share is the part of the resource that the work gets until it is done.
	Share float64
	// Tenants is how many others have work there, Backlog how many items of it.
	Tenants int
	Backlog int64
	// BulkActions name the largest of them.
	BulkActions []string
}

// namedOthers is how many bulk actions a clash names.
const namedOthers = 5

// clashes tells for each resource with work of others how much of it the work got.
// What starts only after the work was done does not count.
func (p *plan) clashes(l line) (out []Clash) {
	end := p.w.Delay + seconds(l.drawn())
	if n := p.upcoming(end); n > 0 {
		p.say("Scheduled bulk actions that share its resources and start before it ends: %d.", n)
	}
	sends := map[string]float64{} // by resource
	for i, sent := range p.sends() {
		sends[p.w.Steps[i].Resource] += sent
	}
	for i, res := range p.used {
		if sends[res.Name] == 0 {
			continue // the work has passed it
		}
		c := Clash{Resource: res.Name, Share: 1}
		tenants := map[string]bool{}
		for _, o := range p.others {
			if o.step(res.Name) < 0 || o.Delay >= end {
				continue
			}
			c.Backlog += o.Items
			if o.Tenant != p.w.Tenant {
				tenants[o.Tenant] = true
			}
			if len(c.BulkActions) < namedOthers {
				c.BulkActions = append(c.BulkActions, o.Name)
			}
		}
		if c.Tenants = len(tenants); c.Backlog == 0 && res.Arrivals == 0 {
			continue
		}
		if mine, all := p.sent(l.large, i); all > 0 {
			// What came between both sizes tells what it is like in the long run,
			// unless both were ended early and are the same.
			if less, fewer := p.sent(l.half, i); all-fewer > all/10 {
				mine, all = mine-less, all-fewer
			}
			c.Share = min(1, max(mine, 0)/max(all, 1))
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Clash) int { return cmp.Compare(a.Share, b.Share) })
	return out
}

// upcoming returns how many bulk actions of others start in time that have not yet.
func (p *plan) upcoming(by time.Duration) (n int) {
	for _, o := range p.others {
		if o.scheduled && o.Delay < by {
			n++
		}
	}
	return n
}

// sent returns how many items a resource was sent over all runs of a sample: those of the
// work, and all.
func (p *plan) sent(s sample, resource int) (mine, all float64) {
	per := 0.0 // of one item, on average
	for i, sent := range p.sends() {
		if p.l.resource(p.w.Steps[i].Resource) == p.used[resource] {
			per += sent / float64(p.w.Items)
		}
	}
	for _, r := range s.runs {
		k := r.Kinds[0]
		items := float64(k.Items)
		if k.Open > 0 {
			items = float64(k.Done + k.Failed)
		}
		mine, all = mine+per*items, all+float64(r.Resources[resource].Started)
	}
	return mine, all
}

// steps tells what each step has to do, and how fast it can with its share.
func (p *plan) steps(clashes []Clash, runs []model.Result) (out []StepForecast) {
	for i, called := range p.calls() {
		s := &p.w.Steps[i]
		r := p.l.resource(s.Resource)
		rate := p.capped(r, s.Batch, 0) / p.uses(s.Resource)
		for _, c := range clashes {
			if c.Resource == s.Resource {
				rate *= c.Share
			}
		}
		if s.Rate > 0 {
			rate = min(rate, float64(s.Rate))
		}
		x := StepForecast{Name: s.Name, Action: s.Action, Resource: s.Resource, Items: int64(math.Round(called)), Rate: rate}
		if called > 0 {
			x.Calls, x.Duration = int64(math.Ceil(called*r.sent()/p.perCall(i, runs))), seconds(called*r.sent()/rate)
		}
		out = append(out, x)
	}
	return out
}

// roughly is how far the time of a step, computed from limits, may be from the simulated time of all.
const roughly = 0.1

// reconcile makes the steps agree with the simulated time of all of them: a single step takes all of it,
// and the slowest of several as well if limits alone do not explain that time.
func reconcile(steps []StepForecast, total time.Duration) {
	slow, busy := -1, 0
	for i := range steps {
		if steps[i].Duration == 0 {
			continue
		}
		if busy++; slow < 0 || steps[i].Duration > steps[slow].Duration {
			slow = i
		}
	}
	if slow < 0 || total <= 0 {
		return
	}
	s := &steps[slow]
	if part := float64(s.Duration) / float64(total); busy == 1 || math.Abs(1-part) > roughly {
		s.Rate, s.Duration = s.Rate*min(part, 1), total // a burst at the start makes no rate higher
	}
}

// perCall returns how many items a call of a step had in the runs.
func (p *plan) perCall(step int, runs []model.Result) float64 {
	var sum model.StepResult
	for _, r := range runs {
		x := r.Kinds[0].Steps[step]
		sum.Calls, sum.Items = sum.Calls+x.Calls, sum.Items+x.Items
	}
	if sum.Calls == 0 {
		s := &p.w.Steps[step]
		return p.chunk(p.l.resource(s.Resource), s.Batch, s.Rate)
	}
	return float64(sum.Items) / float64(sum.Calls)
}

// uses returns how many steps of the work share a resource.
func (p *plan) uses(resource string) (n float64) {
	for _, s := range p.w.Steps {
		if s.Resource == resource {
			n++
		}
	}
	return n
}

// telling is the least share of its time that the work waits for what holds it back.
const telling = 0.2

// bottleneck returns what the work waited for most of the time while it was played.
// Waiting for one's turn is waiting for whatever limits the resource.
func (p *plan) bottleneck(runs []model.Result) Bottleneck {
	kinds := map[string]Kind{"rate": ByRate, "concurrency": ByConcurrency, "no_workers": ByWorkers}
	turn := ""
	for _, w := range waits(runs) {
		resource := p.used[slices.IndexFunc(p.used, func(r *Resource) bool { return p.key(r.Name) == w.Resource })].Name
		kind, ok := kinds[w.Reason]
		switch {
		case w.Share < telling:
			continue
		case !ok && w.Reason == "fair_share" && turn == "":
			turn = resource
		case w.Own && kind == ByConcurrency:
			return Bottleneck{ByConcurrency, resource, fmt.Sprintf("%d at once", p.w.Concurrency), OfBulkAction}
		case w.Own:
			return Bottleneck{ByRate, resource, p.own(resource).String(), OfBulkAction}
		case w.Tenant:
			return Bottleneck{ByConcurrency, resource, fmt.Sprintf("%d at once", p.w.MaxTasks*p.l.Nodes), OfTenant}
		case ok && (turn == "" || turn == resource):
			return p.limit(kind, resource)
		}
	}
	if turn != "" {
		return p.narrowest(turn)
	}
	return p.slowest()
}

// waits returns what the work waited for over all runs, the most first.
func waits(runs []model.Result) (out []model.Wait) {
	for _, r := range runs {
		for _, w := range r.Kinds[0].Waited {
			i := slices.IndexFunc(out, func(x model.Wait) bool {
				return x.Reason == w.Reason && x.Resource == w.Resource && x.Own == w.Own && x.Tenant == w.Tenant
			})
			if i < 0 {
				i, out = len(out), append(out, model.Wait{Reason: w.Reason, Resource: w.Resource, Own: w.Own, Tenant: w.Tenant})
			}
			out[i].Share += w.Share / float64(len(runs))
		}
	}
	slices.SortStableFunc(out, func(a, b model.Wait) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// own returns the lowest rate of its own that the work has at a resource.
func (p *plan) own(resource string) (rate weir.Rate) {
	for _, s := range p.w.Steps {
		if s.Resource == resource && s.Rate > 0 && (rate == 0 || s.Rate < rate) {
			rate = s.Rate
		}
	}
	return rate
}

// limit writes a bottleneck with its number.
func (p *plan) limit(kind Kind, resource string) Bottleneck {
	r := p.l.resource(resource)
	out := Bottleneck{Kind: kind, Resource: resource}
	switch kind {
	case ByRate:
		out.Value = r.Rate.String()
	case ByConcurrency:
		out.Value = fmt.Sprintf("%d at once", cmp.Or(r.Concurrency, p.atOnce(r)))
	case ByWorkers:
		out.Value = fmt.Sprintf("%d workers", p.atOnce(r))
	case ByService:
		out.Value = fmt.Sprintf("%v a call", r.Service.Round(time.Millisecond))
	}
	return out
}

// narrowest returns what limits a resource, by its numbers.
func (p *plan) narrowest(resource string) Bottleneck {
	r := p.l.resource(resource)
	switch {
	case r.Rate > 0 && float64(r.Rate) <= p.speed(r, 100, 0):
		return p.limit(ByRate, resource)
	case r.Concurrency > 0 && r.Concurrency == p.atOnce(r):
		return p.limit(ByConcurrency, resource)
	}
	return p.limit(ByWorkers, resource)
}

// slowest returns the resource whose calls take longest.
func (p *plan) slowest() Bottleneck {
	slow := slices.MaxFunc(p.used, func(a, b *Resource) int { return cmp.Compare(a.Service, b.Service) })
	return p.limit(ByService, slow.Name)
}
