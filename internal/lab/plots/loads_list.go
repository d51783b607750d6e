package main

import (
	"fmt"

	"github.com/weirhq/weir/internal/lab/experiment"
)

// allLoads returns the loads of E13, and the kinds of trouble in which policies differ.
func allLoads() []load {
	return []load{
		{"step", "Eight times the load: the default is there in seconds and does not overshoot",
			"10, 80, then 10 tasks/s of 0.5 s.", func(p played) []claim {
				return []claim{
					{"90 % of 50 workers within 15 s", p.ours().Reach(200, 45) <= 15},
					{"no more than 15 % over 50", most(p.ours()) <= 57},
					calm(p, 5),
				}
			}},
		{"late", "Workers that need 5 s to start: the default overshoots least", "10, 80, then 10 tasks/s of 0.5 s.",
			func(p played) (claims []claim) {
				for _, l := range p.others() {
					claims = append(claims, claim{"fewer at most than every other policy", most(p.ours()) < most(l)})
				}
				return claims
			}},
		{"constant", "An hour of constant load: the default finds its number and stays", "50 tasks/s of 0.5 s.", func(p played) []claim {
			return []claim{calm(p, 2), {"no more than 25 % over 31", most(p.ours()) <= 39}}
		}},
		{"sine", "Load in waves of ten minutes: the default turns with each wave, not more", "50 tasks/s ±60 %, of 0.5 s.",
			func(p played) []claim {
				return []claim{calm(p, 13)}
			}},
		{"on-off", "Ten seconds on, thirty off: the default keeps its workers, others swing", "80 or 0 tasks/s of 0.5 s.",
			func(p played) []claim {
				claims := []claim{calm(p, 10)}
				for _, l := range p.others() {
					claims = append(claims, claim{"fewer turns than every other policy", p.ours().Reversals() < l.Reversals()})
				}
				return claims
			}},
		{"burst", "Twenty times the load for 5 s: the default follows, and lets go once it is over",
			"10 tasks/s, 200 in the burst, of 0.5 s.", func(p played) []claim {
				return []claim{
					calm(p, 5),
					{"three of four needed workers while it lasts or 5 s later", p.ours().Reach(200, 94) <= 10},
					{"a tenth of them at the end", p.ours()[599].Workers < 15},
				}
			}},
		{"ramp", "A ramp from 10 to 160 tasks/s: the default climbs along and does not turn back", "Tasks of 0.5 s.",
			func(p played) []claim {
				return []claim{calm(p, 0), {"85 of 100 at the end", p.ours()[599].Workers >= 85}}
			}},
		{"bulks", "Bulks of 10 to 1,000 tasks by chance: the default holds workers ready between them",
			"One in five seconds, for an hour. Tasks of 0.1 s.", func(p played) []claim {
				return []claim{calm(p, 30), {"at least 40 workers in nine seconds of ten", atLeast(p.ours(), 40) >= 0.9}}
			}},
		{"limited", "A backlog behind a limit: the default has no more workers than the limit can use",
			"50,000 tasks of 0.5 s; downstream takes 20 tasks/s.", func(p played) []claim {
				return []claim{{"at most 15, half as many again as are busy", most(p.ours()) <= 15},
					{"depth takes all of 64", most(p["depth"]) == 64}}
			}},
		{"article", "1,000 tasks at once, 8 to 64 workers: the default ends with the fastest", "Tasks of 12 s.",
			func(p played) (claims []claim) {
				for _, l := range p.others() {
					claims = append(claims, claim{"no more than 2 % slower than any other policy", float64(len(p.ours())) <= 1.02*float64(len(l))})
				}
				return append(claims, calm(p, 5))
			}},
		{"slow", "Tasks take four times as long: the default gives them the workers they need",
			"50 tasks/s of 0.5 s; of 2 s and one in ten fails from 100 to 300 s.", func(p played) []claim {
				return []claim{{"need of 125 met from 150 s on", p.ours().Least(150, 300) >= 125}}
			}},
		{"crowded", "A downstream that a crowd makes worse: the default holds back while it is told so",
			"Room for 40 tasks; 100 tasks/s from 100 to 300 s, of which flow control tells.", func(p played) []claim {
				return []claim{
					{"no more than 60 workers from 150 to 300 s", p.ours().Most(150, 300) <= 60},
					{"three times as much ends well as under depth", p.ours().Good(100, 300) >= 3*p["depth"].Good(100, 300)},
				}
			}},
		{"incident-alone", "An incident, seen by the policies alone: the default shrinks, depth goes to the maximum",
			"50 ms become 5 s and 40 % fail, 200 to 260 s.", func(p played) []claim {
				return []claim{
					{"no growth while it lasts", p.ours().Most(200, 260) <= p.ours()[199].Workers},
					{"less than half at its end", 2*p.ours()[259].Workers < p.ours()[199].Workers},
					{"depth has all of 400", p["depth"].Most(200, 260) == 400},
				}
			}},
	}
}

// calm claims that the default turns no more often than that.
func calm(p played, turns int) claim {
	return claim{fmt.Sprintf("no more than %d turns", turns), p.ours().Reversals() <= turns}
}

// atLeast returns the share of seconds with so many workers or more.
func atLeast(l experiment.Lane, workers int) float64 {
	n := 0
	for _, p := range l {
		if p.Workers >= workers {
			n++
		}
	}
	return float64(n) / float64(len(l))
}
