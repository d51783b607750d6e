package forecast

import (
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// Seen is what was last seen of each resource: nodes do not tell of lanes that have
// been idle for a while. It is for one goroutine.
type Seen struct{ last map[string]Resource }

// mostSeen bounds how many resources are remembered.
const mostSeen = 10_000

// Add takes note of what nodes tell, and returns all that is known of their resources.
func (k *Seen) Add(nodes []weir.Node) (all []Resource) {
	for i := range nodes {
		for j := range nodes[i].Resources {
			all = addResource(all, &nodes[i].Resources[j])
		}
	}
	sums := make([]laneSum, len(all))
	for i := range nodes {
		for j := range nodes[i].Lanes {
			l := &nodes[i].Lanes[j]
			if at := slices.IndexFunc(all, func(r Resource) bool { return r.Name == l.ID.Resource }); at >= 0 {
				sums[at].add(l)
			}
		}
	}
	if k.last == nil || len(k.last) > mostSeen {
		k.last = map[string]Resource{}
	}
	for i := range all {
		r := &all[i]
		if sums[i].Ended > 0 {
			sums[i].tell(r)
			k.last[r.Name] = *r
		} else if had, ok := k.last[r.Name]; ok {
			r.Service, r.Samples, r.Failures, r.Retries, r.Rejects = had.Service, had.Samples, had.Failures, had.Retries, had.Rejects
		}
		r.Workers = sums[i].Workers
	}
	return all
}

func addResource(all []Resource, u *weir.ResourceUse) []Resource {
	if slices.ContainsFunc(all, func(r Resource) bool { return r.Name == u.Name }) {
		return all
	}
	return append(all, Resource{Name: u.Name, Rate: weir.Rate(u.Rate), Concurrency: u.Concurrency, Pacing: u.Pacing})
}

// laneSum is what the lanes of a resource have seen. Workers are those of lanes with work.
type laneSum weir.Lane

func (s *laneSum) add(l *weir.Lane) {
	s.Ended, s.Failed, s.Took = s.Ended+l.Ended, s.Failed+l.Failed, s.Took+l.Took
	s.Items, s.Again, s.Gone = s.Items+l.Items, s.Again+l.Again, s.Gone+l.Gone
	if l.Ready > 0 || l.InFlight > 0 {
		s.Workers += max(l.Workers, 0)
	}
}

func (s *laneSum) tell(r *Resource) {
	r.Samples, r.Service = s.Ended, s.Took/time.Duration(s.Ended)
	r.Failures = float64(s.Failed) / float64(s.Ended)
	if s.Items > 0 {
		r.Retries, r.Rejects = float64(s.Again)/float64(s.Items), float64(s.Gone)/float64(s.Items)
	}
}
