package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/internal/lab/model"
)

const (
	// guess is the assumed duration of a call that was never measured.
	guess = 100 * time.Millisecond
	// unlucky is how much worse than expected the runs for P90 are.
	unlucky = 1.25
	// mostOthers is how many bulk actions of others are played; the rest is one.
	mostOthers = 24
	// ahead bounds the backlog of another tenant, as a multiple of what it should get
	// while this work is done.
	ahead = 4
	// ours is the name of the work in its world; rest begins the names of what others are merged to.
	ours = "this"
	rest = "the rest of "
)

// plan is work and load, made ready to be played.
type plan struct {
	w      Work
	l      Load
	used   []*Resource // of the steps, each once
	others []Work      // those that share a resource with the work
	joined []Work      // the first of the others, which are played as a whole
	shards int
	shrink float64 // how much smaller than it is the work is played
	few    float64 // tasks that a run should have, about
	tasks  float64 // that it has, about
	first  sample  // the first run of the whole work, if it is short
	cut    bool    // some run did not come to its end
	says   []string
}

func newPlan(w Work, l Load, few float64) (*plan, error) {
	l.Nodes, l.Slots = cmp.Or(l.Nodes, 1), cmp.Or(l.Slots, 64)
	l.Partitions = cmp.Or(l.Partitions, l.Nodes)
	l.Workers, l.MaxWorkers = cmp.Or(l.Workers, 8), cmp.Or(l.MaxWorkers, 64)
	w.Weight = cmp.Or(w.Weight, 1)
	w.Steps = slices.Clone(w.Steps)
	l.Resources = slices.Clone(l.Resources)
	p := &plan{w: w, l: l, few: few, shards: route.ShardsFor(w.Items, route.MostShards(l.Partitions))}
	for i := range w.Steps {
		s := &p.w.Steps[i]
		s.Batch = sized(s.Batch)
		if r := p.l.resource(s.Resource); !slices.Contains(p.used, r) {
			p.used = append(p.used, r)
		}
	}
	for _, r := range p.used {
		p.settle(r)
		if r.Workers > 0 && w.Standing == nil {
			r.Workers += l.Workers * p.shards // its own lanes are not among those with work
		}
	}
	p.choose(l.Others)
	p.skipWait()
	p.dropLater()
	p.merge()
	var err error
	p.first, err = p.whole()
	p.shrink, p.tasks = 1, few
	switch {
	case err != nil:
	case p.first.took == nil:
		p.size()
	default:
		p.tasks = float64(max(p.first.runs[0].Tasks, leastTasks))
	}
	p.assume()
	return p, err
}

// say notes an assumption.
func (p *plan) say(format string, args ...any) {
	p.says = append(p.says, fmt.Sprintf(format, args...))
}

// settle fills in what is not known of a resource, and keeps the rest within reason.
func (p *plan) settle(r *Resource) {
	if r.Service <= 0 {
		r.Service, r.P99, r.Samples = guess, 3*guess, 0
		p.say("No bulk action has called %s yet: a call is assumed to take %v.", r.Name, guess)
	}
	r.P99 = min(max(cmp.Or(r.P99, 2*r.Service), r.Service), 10*r.Service)
	r.Timeout = max(cmp.Or(r.Timeout, 30*time.Second), time.Millisecond)
	r.Failures, r.Retries, r.Rejects = min(max(r.Failures, 0), 1), min(max(r.Retries, 0), 1), min(max(r.Rejects, 0), 1)
}

// choose keeps the bulk actions that share a resource with the work.
func (p *plan) choose(all []Work) {
	for _, o := range all {
		o = p.shared(o)
		o.Weight, o.scheduled = cmp.Or(o.Weight, 1), o.Delay > 0
		if o.Items > 0 && len(o.Steps) > 0 {
			p.others = append(p.others, o)
		}
	}
}

// skipWait reckons what others have left at a start that is too far away to be
// played up to: all of them are taken to go on evenly until then.
func (p *plan) skipWait() {
	wait := p.w.Delay
	if wait <= mostTime {
		return
	}
	p.w.Delay = 0
	busy := p.backlog(wait)
	had, left := 0, 0
	for i := range p.others {
		o := &p.others[i]
		since := wait - o.Delay // its start
		if o.Delay = max(-since, 0); since <= 0 {
			continue
		}
		had++
		takes := busy
		for _, s := range o.Steps {
			if own := float64(s.Rate); own > 0 {
				takes = max(takes, float64(o.Items)/own)
			}
		}
		o.Items = int64(float64(o.Items) * max(0, 1-since.Seconds()/takes))
		if o.Items > 0 {
			left++
		}
	}
	p.others = slices.DeleteFunc(p.others, func(o Work) bool { return o.Items == 0 })
	if had > 0 {
		p.say("Other work is assumed to proceed evenly until the start: of %d bulk actions that run now or start before, %d "+
			"have items left then.", had, left)
	}
}

// backlog returns how long the work of others that starts within some time keeps the
// busiest resource busy, in seconds.
func (p *plan) backlog(within time.Duration) (longest float64) {
	for _, r := range p.used {
		busy := 0.0
		for _, o := range p.others {
			if i := o.step(r.Name); i >= 0 && o.Delay < within {
				busy += float64(o.Items) / p.speed(r, o.Steps[i].Batch, 0)
			}
		}
		longest = max(longest, busy)
	}
	return longest
}

// slack is how many times as long as its calls need at least the work may take, for
// what starts meanwhile.
const slack = 2

// dropLater leaves out what is scheduled for when the work should long be done. What
// starts before makes it longer.
func (p *plan) dropLater() {
	slices.SortStableFunc(p.others, func(a, b Work) int { return cmp.Compare(a.Delay, b.Delay) })
	takes := 0.0
	for i, sent := range p.sends() {
		s := &p.w.Steps[i]
		takes = max(takes, sent/p.capped(p.l.resource(s.Resource), s.Batch, s.Rate))
	}
	n := 0
	for n < len(p.others) && p.others[n].Delay <= p.w.Delay+seconds(slack*takes) {
		o := p.others[n]
		for _, s := range o.Steps {
			takes += min(p.beside(o), float64(o.Items)) / p.speed(p.l.resource(s.Resource), s.Batch, 0)
		}
		n++
	}
	p.others = p.others[:n]
}

// shared is another bulk action with only those of its steps whose resources the work uses.
func (p *plan) shared(o Work) Work {
	var steps []Step
	var standing []int64
	passing := int64(0) // have come to a step that is left out
	for i, s := range o.Steps {
		passing += at(o.Standing, i)
		if slices.ContainsFunc(p.used, func(r *Resource) bool { return r.Name == s.Resource }) {
			s.Batch = sized(s.Batch)
			steps, standing, passing = append(steps, s), append(standing, passing), 0
		}
	}
	o.Steps, o.Standing = steps, standing
	o.Items -= passing // they do not come here any more
	return o
}

// merge makes one bulk action for each resource of those that are too many, with the
// weight of all. It starts when the first of them does.
func (p *plan) merge() {
	slices.SortStableFunc(p.others, func(a, b Work) int { return cmp.Compare(b.Items, a.Items) })
	if len(p.others) <= mostOthers {
		return
	}
	many := p.others[mostOthers:]
	p.say("Of %d other bulk actions, the %d largest are simulated one by one, and the rest as one tenant per resource.",
		len(p.others), mostOthers)
	p.others = slices.Clone(p.others[:mostOthers])
	for _, r := range p.used {
		one := Work{Name: rest + r.Name, Tenant: rest + r.Name, Steps: []Step{{Resource: r.Name, Batch: sized(0)}}}
		tenants, free, rate := map[string]bool{}, false, weir.Rate(0)
		for _, o := range many {
			at := o.step(r.Name)
			if at < 0 {
				continue
			}
			if one.Items == 0 || o.Delay < one.Delay {
				one.Delay = o.Delay
			}
			one.Items += o.Items
			rate, free = rate+o.Steps[at].Rate, free || o.Steps[at].Rate == 0
			if !tenants[o.Tenant] && o.Tenant != p.w.Tenant {
				one.Weight += o.Weight
			}
			tenants[o.Tenant] = true
		}
		if !free {
			one.Steps[0].Rate = rate // together no faster than each by itself
		}
		if one.Items > 0 {
			p.others = append(p.others, one)
		}
	}
}

// chunk returns about how many items a call has, of work with a rate of its own or without.
func (p *plan) chunk(r *Resource, batch int, own weir.Rate) float64 {
	s := limit.Size{Rate: float64(r.Rate), Latency: r.Service.Seconds(), InFlight: p.atOnce(r), Full: r.Pacing == weir.PacingFull}
	return float64(s.Under(float64(own), batch))
}

// size chooses how much smaller than it is everything is played.
func (p *plan) size() {
	tasks, longest := 0.0, 0.0
	wait := p.w.Delay.Seconds()
	for i, sent := range p.sends() {
		s := &p.w.Steps[i]
		r := p.l.resource(s.Resource)
		tasks += sent / p.chunk(r, s.Batch, s.Rate)
		longest = max(longest, sent/p.capped(r, s.Batch, s.Rate)+wait)
	}
	alone := longest
	for _, o := range p.others {
		for _, s := range o.Steps {
			r := p.l.resource(s.Resource)
			n := min(p.beside(o), float64(o.Items))
			if own := float64(s.Rate); own > 0 {
				n = min(n, own*alone)
			}
			tasks += n / p.chunk(r, s.Batch, s.Rate)
			longest += n / p.speed(r, s.Batch, 0) // what this work has to wait for it
		}
	}
	for _, r := range p.used {
		tasks += r.Arrivals / p.chunk(r, 100, 0) * longest
	}
	p.shrink = max(1, math.Ceil(tasks/p.few), math.Ceil(longest/mostTime.Seconds()))
	p.shrink = min(p.shrink, max(1, math.Floor(float64(p.w.Items)/p.large())))
	if p.tasks = max(tasks/p.shrink, p.few); p.tasks > 2*mostTasks {
		p.shrink *= p.tasks / (2 * mostTasks)
		p.tasks = 2 * mostTasks
		p.say("So much other work is waiting that its share is a rough estimate.")
	}
}

// calls returns how many items of the work are called at each step.
func (p *plan) calls() (out []float64) {
	coming := float64(p.w.Items)
	for i := range p.w.Steps {
		coming -= float64(at(p.w.Standing, i) + at(p.w.Flying, i) + at(p.w.Waiting, i))
	}
	for i, s := range p.w.Steps {
		called := coming*(1-s.Skips-s.LeftOut) + float64(at(p.w.Standing, i)+at(p.w.Flying, i)+at(p.w.Waiting, i))
		out = append(out, called)
		coming = coming*s.Skips + called*(1-p.l.resource(s.Resource).Rejects)
	}
	return out
}

// sends returns the same with each time that one is sent.
func (p *plan) sends() []float64 {
	out := p.calls()
	for i := range out {
		out[i] *= p.l.resource(p.w.Steps[i].Resource).sent()
	}
	return out
}

// sent returns how often an item is sent, on average.
func (r *Resource) sent() float64 { return (1 + r.Failures) / max(1-r.Retries, 0.2) }

// large returns how many items the work must have at least when it is played smaller
// than it is: what the scheduler takes for small gets ahead, and would still have
// to be a small part of it.
func (p *plan) large() (items float64) {
	for _, s := range p.w.Steps {
		r := p.l.resource(s.Resource)
		small, rate := 1000.0, float64(r.Rate)
		if s.Rate > 0 && (rate == 0 || float64(s.Rate) < rate) {
			rate = float64(s.Rate)
		}
		if rate > 0 {
			small = min(max(rate, 10*p.chunk(r, 100, s.Rate)), 10_000)
		}
		items = max(items, 4*small)
	}
	return items
}

// speed returns how many items per second of a step a resource can take, at the rate of
// the bulk action's own if there is one.
func (p *plan) speed(r *Resource, batch int, own weir.Rate) float64 {
	out := float64(p.atOnce(r)) * p.chunk(r, batch, own) / r.Service.Seconds()
	for _, rate := range []weir.Rate{r.Rate, own} {
		if rate > 0 {
			out = min(out, float64(rate))
		}
	}
	return out
}

// capped returns the same for the work itself, whose calls at once may be bounded.
func (p *plan) capped(r *Resource, batch int, own weir.Rate) float64 {
	out := p.speed(r, batch, own)
	for _, most := range []int{p.w.Concurrency, p.w.MaxTasks * p.l.Nodes} {
		if most > 0 {
			out = min(out, float64(most)*p.chunk(r, batch, own)/r.Service.Seconds())
		}
	}
	return out
}

// atOnce returns how many calls of the work a resource can have in flight.
func (p *plan) atOnce(r *Resource) int {
	n := min(p.l.Nodes*p.l.Slots, p.l.MaxWorkers*p.shards)
	if r.Concurrency > 0 {
		n = min(n, r.Concurrency)
	}
	return n
}

// bounded returns how much of another bulk action can matter: of another tenant no more
// than a multiple of what it could get beside this work.
func (p *plan) bounded(o Work) int64 {
	return min(o.Items, int64(min(ahead*p.beside(o), 1e15)))
}

// beside returns how much of another bulk action should be done beside this work: all of
// the same tenant's, and of others by weight and tier.
func (p *plan) beside(o Work) float64 {
	if o.Tenant == p.w.Tenant || p.w.Delay > 0 {
		return float64(o.Items)
	}
	tiers := [...]float64{6, 3, 2, 1} // by rank
	return float64(p.w.Items) * o.Weight / p.w.Weight * tiers[o.Tier.Rank()] / tiers[p.w.Tier.Rank()] * p.leaves(o)
}

// mostLeft bounds how much more than its share another bulk action is played with.
const mostLeft = 8

// leaves returns how many times more than its share another bulk action can have because
// this work keeps to a rate of its own.
func (p *plan) leaves(o Work) float64 {
	more := 1.0
	for _, s := range p.w.Steps {
		if s.Rate > 0 && o.step(s.Resource) >= 0 {
			r := p.l.resource(s.Resource)
			more = max(more, p.speed(r, s.Batch, 0)/p.speed(r, s.Batch, s.Rate))
		}
	}
	return min(more, mostLeft)
}

// world describes everything, at full size. worse is how much worse than expected
// services, failures and arrivals are.
func (p *plan) world(worse float64) model.World {
	parts := min(p.l.Partitions, max(p.shards, 1)*(1+min(len(p.others), 3)))
	w := model.World{
		// One node and one partition with the slots and workers of all that the work
		// is spread over: what they share, they share in the end.
		Nodes:      []model.Node{{Slots: min(p.l.Nodes*p.l.Slots, 1_000_000)}},
		Partitions: 1,
		Workers:    model.Workers{Start: p.l.Workers * p.shards, Max: max(p.l.MaxWorkers*parts, p.l.Workers*p.shards)},
		StopAfter:  ours,
	}
	this := p.bulk(ours, &p.w)
	this.Target = model.Span(p.w.Deadline)
	w.BulkActions = []model.BulkAction{this}
	for _, r := range p.used {
		w.Resources = append(w.Resources, r.world(p.key(r.Name), worse))
		if r.Arrivals > 0 {
			w.BulkActions = append(w.BulkActions, r.stream(p.key(r.Name), worse))
		}
	}
	for i, o := range p.others {
		b := p.bulk(fmt.Sprintf("other-%d", i), &o)
		if o.Deadline < longestDeadline {
			b.Deadline = model.Span(o.Deadline)
		}
		if i >= len(p.joined) {
			b = resized(b, p.bounded(o))
		}
		w.BulkActions = append(w.BulkActions, b)
	}
	w.Tenants = p.tenants()
	return w
}

// longestDeadline is from when on a deadline of another bulk action is too far off to matter.
const longestDeadline = 24 * time.Hour

// bulk is some work as the model has it.
func (p *plan) bulk(name string, w *Work) model.BulkAction {
	b := model.BulkAction{
		Name: name, Tenant: p.tenant(w.Tenant), Tier: w.Tier.String(), Priority: w.Priority, At: model.Span(w.Delay), Items: w.Items,
		Standing: w.Standing, Flying: w.Flying, Waiting: w.Waiting, Due: model.Span(w.Due), Concurrency: w.Concurrency,
	}
	for _, s := range w.Steps {
		b.Steps, b.Batches, b.Rates = append(b.Steps, p.key(s.Resource)), append(b.Batches, s.Batch), append(b.Rates, model.Rate(s.Rate))
		b.Skips, b.LeftOut = append(b.Skips, model.Percent(s.Skips)), append(b.LeftOut, model.Percent(s.LeftOut))
	}
	return b
}

// tenants gives each tenant its weight.
func (p *plan) tenants() []model.Tenant {
	out := []model.Tenant{p.limitsOf(&p.w)}
	for _, o := range p.others {
		t := p.limitsOf(&o)
		if !slices.ContainsFunc(out, func(u model.Tenant) bool { return u.Name == t.Name }) {
			out = append(out, t)
		}
	}
	return out
}

// limitsOf returns the tenant of some work, on the one node of the world.
func (p *plan) limitsOf(w *Work) model.Tenant {
	return model.Tenant{Name: p.tenant(w.Tenant), Weight: weight(w.Weight), MaxTasks: w.MaxTasks * p.l.Nodes}
}

// key returns the name of a resource in the world, where names are plainer than ours.
func (p *plan) key(resource string) string {
	return fmt.Sprintf("r%d", slices.IndexFunc(p.used, func(r *Resource) bool { return r.Name == resource }))
}

// tenant returns the name of a tenant in the world.
func (p *plan) tenant(name string) string {
	i := slices.IndexFunc(p.others, func(o Work) bool { return o.Tenant == name })
	if name == p.w.Tenant {
		i = -1
	}
	return fmt.Sprintf("t%d", i+1)
}

func weight(w float64) float64 { return min(max(w, 0.01), 1000) }

// world returns the resource as the model has it.
func (r *Resource) world(name string, worse float64) model.Resource {
	if r.Samples == 0 {
		worse *= worse // a guess is worse than a measurement
	}
	slow := func(d time.Duration) model.Span { return model.Span(float64(d) * worse) }
	return model.Resource{
		Name: name, Rate: model.Rate(r.Rate), Concurrency: r.Concurrency, Pacing: string(r.Pacing),
		Timeout: model.Span(r.Timeout), Attempts: r.Backoff.MaxAttempts, Backoff: model.Span(r.Backoff.Base),
		BackoffCap: model.Span(r.Backoff.Cap),
		Workers:    r.Workers,
		Downstream: model.Downstream{
			Latency: slow(r.Service), P99: slow(r.P99), Failures: model.Percent(min(r.Failures*worse, 1)),
			Retries: model.Percent(min(r.Retries*worse, 1)), Rejects: model.Percent(r.Rejects),
		},
	}
}

// stream returns the new work of other tenants, in about ten bulk actions a second.
func (r *Resource) stream(name string, worse float64) model.BulkAction {
	const tenants = 20
	items := int64(math.Ceil(r.Arrivals / 10))
	return model.BulkAction{
		Name: "new-" + name, Spread: tenants, Arrivals: model.Rate(r.Arrivals * worse / float64(items)),
		Until: model.Span(beyond * mostTime),
		Items: items, Steps: []string{name},
	}
}

// assume says in words what was taken for granted.
func (p *plan) assume() {
	p.say("Limits, weights and call durations stay as they are now.")
	for _, s := range p.w.Steps {
		if s.Rate > 0 {
			p.say("Its own rate of %s applies at %s.", s.Rate, cmp.Or(s.Name, s.Action, s.Resource))
		}
		switch {
		case s.Looked > 0:
			p.say("%s is assumed to be called for %.0f%% of the items: its condition was tried on a sample of %d.",
				cmp.Or(s.Name, s.Action), 100*(1-s.Skips-s.LeftOut), s.Looked)
		case s.Skips+s.LeftOut > 0:
			p.say("%s is assumed to be called for %.0f%% of the items, according to its condition.", cmp.Or(s.Name, s.Action),
				100*(1-s.Skips-s.LeftOut))
		case s.Conditional:
			p.say("All items are assumed to meet the condition of %s.", cmp.Or(s.Name, s.Action))
		}
	}
	for _, r := range p.used {
		if r.Samples > 0 && r.Samples < 100 {
			p.say("Call durations of %s come from only %d calls.", r.Name, r.Samples)
		}
		if r.Failures >= 0.05 {
			p.say("%.0f%% of the calls to %s fail now, and keep failing.", 100*r.Failures, r.Name)
		}
		if r.Retries >= 0.01 {
			p.say("%.0f %% of the items sent to %s are retried, as so far.", 100*r.Retries, r.Name)
		}
		if r.Rejects >= 0.01 {
			p.say("%.0f %% of the items sent to %s end there, as so far.", 100*r.Rejects, r.Name)
		}
		if r.Arrivals > 0 {
			p.say("Other tenants keep adding %s of new work to %s.", weir.Rate(math.Ceil(r.Arrivals)), r.Name)
		}
	}
	if p.shrink > 1 {
		p.say("It was simulated at 1/%.0f and 1/%.0f of its size and extrapolated linearly.", p.shrink, 2*p.shrink)
	}
	if p.l.Nodes > 1 {
		p.say("Nodes are assumed to share the limits without loss.")
	}
}
