package capacity

import (
	"cmp"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/sched"
)

// Party is one partition's access to the capacity of its node. Each party is used by one
// goroutine.
type Party struct {
	node  *Node
	queue *sched.Queue
	side  *sched.Party
	left  bool

	// Data is the caller's.
	Data any
}

// Join adds a party. It is closed until [Party.SetOpen].
func (n *Node) Join(data any) *Party {
	n.lock.Lock()
	defer n.lock.Unlock()
	p := &Party{node: n, queue: n.queue, side: n.queue.Join(), Data: data}
	p.side.Data = p
	return p
}

// Leave removes p, whose bulk actions have been removed. The caller still reports tasks in flight to
// Done.
func (p *Party) Leave(now int64) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	p.left = true
	p.side.Leave(now)
}

// Slots returns how many tasks the node may have in flight.
func (p *Party) Slots() int { return p.node.cfg.Slots }

// Resource returns the resource of that name, and adds it if it is missing.
func (p *Party) Resource(r weir.Resource) *Resource {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return p.node.Resource(r)
}

// Limits returns the limits of a resource as they are now.
func (p *Party) Limits(r *Resource) weir.Resource {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return r.limits
}

// Probe lets the next call go ahead alone, to test whether the endpoint works at all.
func (p *Party) Probe(r *Resource) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	if r.control != nil {
		r.control.breaker.Probe()
	}
}

// SetWorkers sets the number of workers that p contributes to a resource; below 0: no bound.
func (p *Party) SetWorkers(now int64, r *Resource, n int) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	p.side.SetWorkers(now, r.entry, n)
	p.queue.Recall(now)
}

// Size returns what determines how many items a task on a resource should have.
func (p *Party) Size(r *Resource) limit.Size {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return r.size()
}

// Observe returns p's work on a resource since its last call.
func (p *Party) Observe(now int64, r *Resource) sched.Load {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return p.side.Observe(now, r.entry)
}

// TenantLimits holds what a tenant may use. The zero value holds the defaults.
type TenantLimits struct {
	Weight   float64 // relative to others; 0 counts as 1
	MaxTasks int     // in flight; 0: no bound
	Paused   bool
}

// SetTenant sets the limits of a tenant.
func (p *Party) SetTenant(now int64, name string, l TenantLimits) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	t := p.queue.Tenant(name)
	p.queue.SetTenant(now, t, int64(cmp.Or(l.Weight, 1)*sched.Unit), l.MaxTasks)
	t = p.queue.Tenant(name) // a tenant without settings of its own is dropped
	if l.Paused {
		p.queue.PauseTenant(now, t)
	} else {
		p.queue.ResumeTenant(now, t)
	}
	p.queue.Call()
}

// AddBulk adds a bulk action of a tenant.
func (p *Party) AddBulk(tenant string, c sched.BulkConfig) *sched.Bulk {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return p.side.AddBulk(p.queue.Tenant(tenant), c)
}

// AddEntry adds an entry for a step of a bulk action.
func (p *Party) AddEntry(g *sched.Bulk, r *Resource, step int, data any) *sched.Entry {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	e := p.queue.AddEntry(g, r.entry, step)
	e.Data = data
	return e
}

// SetBulk changes the priority, tier and cap of a bulk action.
func (p *Party) SetBulk(now int64, g *sched.Bulk, c sched.BulkConfig) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	p.queue.SetBulk(now, g, c)
}

// Tasks returns how many tasks of a bulk action are in flight, or picked to start.
func (p *Party) Tasks(g *sched.Bulk) int {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return g.InFlight()
}

// Look returns the forecast for the deadline of a bulk action; see [sched.Queue.Look].
func (p *Party) Look(now int64, g *sched.Bulk, r sched.Rest) sched.Outlook {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return p.queue.Look(now, g, r)
}

// PauseBulk lets nothing of a bulk action start until it is resumed.
func (p *Party) PauseBulk(now int64, g *sched.Bulk) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	p.queue.PauseBulk(now, g)
}

// ResumeBulk ends a pause.
func (p *Party) ResumeBulk(now int64, g *sched.Bulk) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	p.queue.ResumeBulk(now, g)
}

// RemoveBulk removes a bulk action: nothing of it starts any more.
func (p *Party) RemoveBulk(now int64, g *sched.Bulk) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	p.queue.RemoveBulk(now, g)
}

// Update sets the size of e's next task, and the number of items behind it.
func (p *Party) Update(now int64, e *sched.Entry, head int, backlog int64) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	p.queue.Update(now, e, head, backlog)
}

// SetOpen sets whether anything of p may start.
func (p *Party) SetOpen(now int64, open bool) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	if open {
		p.side.Open(now)
	} else {
		p.side.Shut(now)
	}
}

// Next returns a task of p that may run now, see [sched.Party.Next].
func (p *Party) Next(now int64) (sched.Pick, bool) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return p.side.Next(now)
}

// Wake returns when Next is worth calling again without other input.
func (p *Party) Wake() int64 {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return p.side.Wake()
}

// Take reserves what a task of e needs, out of turn; see [sched.Queue.Take].
func (p *Party) Take(now int64, e *sched.Entry, cost int) (pick sched.Pick, at int64, ok bool) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return p.queue.Take(now, e, cost)
}

// CanTake reports whether a task of e could be taken now, apart from rates and concurrency; see
// [sched.Queue.Open].
func (p *Party) CanTake(now int64, e *sched.Entry) (at int64, ok bool) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return p.queue.Open(now, e)
}

// Broken describes what a failed task found broken, as far as is known.
type Broken struct {
	// Downstream as a whole: the circuit is not closed, or no call has succeeded yet.
	Downstream bool
	// Well is when the newest call of the resource started that has succeeded; 0: none has.
	Well int64
	// Tenant: the calls of its tenant fail while those of others succeed, and have not for long.
	Tenant bool
}

// Done reports that a task ended, and how.
func (p *Party) Done(now int64, pick sched.Pick, x *Ending) (broken Broken) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	r := pick.Entry.Resource().Gate().(*Resource)
	broken = r.learn(now, pick, x)
	p.queue.Done(now, pick, x.Service)
	if p.left { // p no longer asks for its next task
		p.queue.Call()
	}
	return broken
}

// Refund credits the tenant with what it was charged for a task that the downstream refused.
func (p *Party) Refund(pick sched.Pick) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	p.queue.Refund(pick)
}

// CloseTenant lets nothing of an entry's tenant, which was refused, start on its resource
// before until.
func (p *Party) CloseTenant(now int64, e *sched.Entry, until int64) {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	p.queue.CloseTenant(now, e.Bulk().Tenant(), e.Resource(), until, sched.CauseClosed)
}

// Cause returns why e is not running now.
func (p *Party) Cause(e *sched.Entry) sched.Cause {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return p.queue.Cause(e)
}

// Paused reports whether a tenant is paused.
func (p *Party) Paused(tenant string) bool {
	p.node.lock.Lock()
	defer p.node.lock.Unlock()
	return p.queue.Tenant(tenant).Paused()
}
