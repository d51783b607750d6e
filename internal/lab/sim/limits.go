package sim

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// planLimits makes users change the limits of resources while they are used. After the
// faults the limits are as before.
func (w *World) planLimits() {
	r := virtual.Named(w.seed, "limits", 0)
	w.limits = map[string]weir.Resource{}
	if !chance(r, 0.5) {
		return
	}
	were := w.resources()
	for at := between(r, 0, 3*second); at < faultTime; at += between(r, second, 6*second) {
		now := were[r.IntN(len(were))]
		if now.Rate > 0 {
			now.Rate = weir.Rate(5 + r.IntN(60))
		}
		if now.Concurrency > 0 {
			now.Concurrency = 1 + r.IntN(5)
		}
		w.After(at, func() { w.relimit(now) })
	}
	w.After(w.plan.healAt, func() {
		for _, was := range were {
			w.relimit(was)
		}
	})
}

// resources returns those that the chains use, each once.
func (w *World) resources() (all []weir.Resource) {
	seen := map[string]bool{}
	for _, name := range w.plan.names {
		for _, s := range w.plan.chains[name] {
			if !seen[s.Resource.Name] {
				seen[s.Resource.Name] = true
				all = append(all, s.Resource)
			}
		}
	}
	return all
}

// relimit gives a resource other limits: on every node at once, and to each owner when it gets to it.
func (w *World) relimit(r weir.Resource) {
	w.limits[r.Name] = r
	for _, n := range w.nodes {
		if !n.up {
			continue
		}
		n.relimit(r)
		for p := range w.plan.partitions {
			if o := n.owner(p); o != nil {
				o.put(func() { o.machine.Relimit(w.Now()) })
			}
		}
	}
}

func (n *node) relimit(r weir.Resource) {
	n.capacity.SetLimits(n.w.Now(), r)
	if m := n.meters[r.Name]; m != nil {
		m.change(n.w.Now(), r)
	}
	n.deliverCalls()
}

// limitsOf returns the limits of a resource now.
func (w *World) limitsOf(r weir.Resource) weir.Resource {
	if now, changed := w.limits[r.Name]; changed {
		return now
	}
	return r
}
