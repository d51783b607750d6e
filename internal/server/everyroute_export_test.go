package server

import (
	"cmp"
	"slices"
)

// Route is a route as tests see it.
type Route struct {
	ID, Method, Path, Scope      string
	Known, Change, Stream, Keyed bool
	Once                         string
}

// Routes lists all routes of a server, from the table that it works by.
func Routes(s *Server) []Route {
	var all []Route
	for _, r := range s.routes {
		all = append(all, Route{r.id, r.method, r.path, string(r.scope), r.known, r.change, r.stream, r.keyed, r.once})
	}
	slices.SortFunc(all, func(a, b Route) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method)) })
	return all
}
