// Package forecast tells before a bulk action starts how long it will take, what
// holds it back, and which work it shares resources with.
//
// It describes the work and the present load as a world of package model and plays
// that with the real scheduler core in virtual time, over several seeds. What would
// take too long to play is played at two smaller sizes, with everything else scaled
// alike, and extrapolated linearly: all that is there is used up in
// proportion, and what it takes to get going counts once. A forecast takes a
// fraction of a second however large the work is, and says in words what it assumed.
//
// The package is pure: the same work and the same load give the same forecast.
package forecast
