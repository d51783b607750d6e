package server

import (
	"slices"
	"strings"
	"sync"
)

// livePages is how many live pages a node serves for each stream that a key may have.
const livePages = 32

// viewers shares the places for live pages between tenants, and those of a tenant between its keys. Any of them may take
// all places that are free: viewers may share a key or have none, and they share the work behind their pages. If none is
// free, the one that has most gives its oldest to one that would have no more than it afterwards.
type viewers struct {
	mu   sync.Mutex
	most int // places; 0: no bound
	list []*viewer
}

// viewer is one live page.
type viewer struct {
	tenant, key string
	lost        chan struct{} // closed when the place is given to another page
}

// take takes a place and returns the function that releases it, and a channel that is closed if the place is lost to
// others. It returns nil if there is none for the key.
func (s *viewers) take(key string, tenants []string) (end func(), lost <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tenants = slices.Sorted(slices.Values(tenants))
	v := &viewer{strings.Join(tenants, "\x00"), key, make(chan struct{})} // names have no control characters
	if s.most > 0 && len(s.list) >= s.most {
		from := s.from(v)
		if from == nil {
			return nil, nil
		}
		s.drop(from)
		close(from.lost)
	}
	s.list = append(s.list, v)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(v)
	}, v.lost
}

// from returns the viewer whose place a new one gets; nil: none.
func (s *viewers) from(v *viewer) *viewer {
	tenant, most := s.largest(func(o *viewer) string { return o.tenant }, nil)
	if tenant != v.tenant && s.count(func(o *viewer) bool { return o.tenant == v.tenant })+1 > most-1 {
		tenant = v.tenant // its share is full: only its own keys can give a place
	}
	in := func(o *viewer) bool { return o.tenant == tenant }
	key, most := s.largest(func(o *viewer) string { return o.key }, in)
	if tenant == v.tenant && s.count(func(o *viewer) bool { return in(o) && o.key == v.key })+1 > most-1 {
		return nil
	}
	i := slices.IndexFunc(s.list, func(o *viewer) bool { return in(o) && o.key == key })
	return s.list[i]
}

// largest returns which of the viewers have most places, by their name, and how many; in chooses viewers, nil: all.
func (s *viewers) largest(name func(*viewer) string, in func(*viewer) bool) (who string, most int) {
	by := map[string]int{}
	for _, o := range s.list {
		if in != nil && !in(o) {
			continue
		}
		n := name(o)
		if by[n]++; by[n] > most {
			who, most = n, by[n]
		}
	}
	return who, most
}

func (s *viewers) count(in func(*viewer) bool) (n int) {
	for _, o := range s.list {
		if in(o) {
			n++
		}
	}
	return n
}

// drop takes a viewer out, if it is still there.
func (s *viewers) drop(v *viewer) {
	s.list = slices.DeleteFunc(s.list, func(o *viewer) bool { return o == v })
}

// Stream takes a place for a live page of a key that is bound to some tenants, none meaning all. It returns what gives
// the place back, and a channel that is closed when the place is given to others; nil if there is none for the key.
func (s *Server) Stream(key string, tenants []string) (end func(), lost <-chan struct{}) {
	give, lost := s.viewers.take(key, tenants)
	if give == nil {
		return nil, nil
	}
	s.heads.streams.Inc()
	return func() { s.heads.streams.Dec(); give() }, lost
}
