package server

import (
	"sync"
	"time"
)

// slots bounds how many requests of one kind run at once, in all or for each key.
type slots struct {
	mu   sync.Mutex
	most int            // of each key; 0: no bound
	by   map[string]int // in use, by key
}

// take takes a slot for a key and returns the function that releases it; nil if no slot is free.
func (s *slots) take(key string) (end func()) {
	if s.most == 0 {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]int{}
	}
	if s.by[key] >= s.most {
		return nil
	}
	s.by[key]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.by[key]--; s.by[key] == 0 {
			delete(s.by, key)
		}
	}
}

// costly are the routes that read much: they share slots, so that they leave the others room.
var costly = map[string]bool{
	"bulk_action.results": true, "bulk_action.report": true, "item.lookup": true, "dlq.results": true, "dlq.list": true, "bulk_action.bad_rows": true,
	"bulk_action.forecast": true, "bulk_action.check": true, "simulation.run": true, "effect.run": true, "audit.list": true,
	"backup.get": true,
}

// slot takes the slots that the route of a visit needs, or returns a problem if none is free.
func (s *Server) slot(v *visit) (end func(), p *problem) {
	switch {
	case costly[v.route.id]:
		end = s.exports.take("")
	case v.route.id == "bulk_action.events":
		end = s.streams.take(v.who.KeyID)
	default:
		return func() {}, nil
	}
	if end == nil {
		return nil, newProblem("too_many_requests", "as many of these run at once as may", "wait for one to end").after(time.Second)
	}
	return end, nil
}
