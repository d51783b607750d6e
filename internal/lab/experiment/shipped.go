package experiment

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/lab/model"
)

// place is where work runs: in so many partitions, on so many nodes.
type place struct{ partitions, nodes int }

// places are the smallest one, what ships, and a fleet.
var places = []place{{1, 1}, {8, 1}, {8, 3}}

func (p place) String() string {
	if p.partitions == 1 && p.nodes == 1 {
		return "one partition"
	}
	if p.nodes == 1 {
		return fmt.Sprintf("%d partitions", p.partitions)
	}
	return fmt.Sprintf("%d partitions on %d nodes", p.partitions, p.nodes)
}

// world returns an empty one in this place.
func (p place) world(seed uint64, rs ...model.Resource) model.World {
	w := model.World{Seed: seed, Partitions: p.partitions, Resources: rs}
	for range p.nodes {
		w.Nodes = append(w.Nodes, model.Node{Slots: 64})
	}
	return w
}

// onNodes adds to a line what is known to hold on several nodes alone.
func (p place) onNodes(l Line, why string, holds float64) Line {
	if p.nodes > 1 {
		return l.missed(why, holds)
	}
	return l
}

// everywhere plays worlds as whole engines, in all places, over several seeds.
func everywhere(plays ...func(place, uint64) []Line) func(Size) []Line {
	return func(size Size) (lines []Line) {
		for _, play := range plays {
			for _, p := range places {
				lines = append(lines, overSeeds(seeds(2001, sized(size, 1, 10)), func(seed uint64) []Line {
					lines := play(p, seed)
					for i := range lines {
						lines[i].What += ", " + p.String()
					}
					return lines
				})...)
			}
		}
		return lines
	}
}

// api returns a resource whose calls all take about the same time.
func api(rate model.Rate, latency time.Duration) model.Resource {
	return model.Resource{Name: "api", Rate: rate, Downstream: model.Downstream{Latency: model.Span(latency)}}
}

// onAPI returns a bulk action of a tenant of the same name.
func onAPI(name string, items int64) model.BulkAction {
	return model.BulkAction{Name: name, Items: items, Steps: []string{"api"}}
}

// each returns n bulk actions of that many items, of a tenant each.
func each(n int, name string, items int64) (all []model.BulkAction) {
	for i := range n {
		all = append(all, onAPI(fmt.Sprint(name, i), items))
	}
	return all
}

// run plays the world. It is well-formed: it was written here.
func run(w model.World) model.Result { return sure(model.Run(w)) }

// peakIn returns the line that every world with a rate has.
func peakIn(r model.Result, what string) Line {
	most := 0.0
	for _, x := range r.Resources {
		if x.Rate > 0 {
			most = max(most, x.Peak/float64(x.Rate))
		}
	}
	return peakLine(what, most)
}

// beyond returns how many percent more a time is than another.
func beyond(got model.Span, ideal float64) float64 {
	return 100 * (time.Duration(got).Seconds()/ideal - 1)
}

// useAfter returns the line about the part of the rate of the first resource that was used from some second on.
func useAfter(r model.Result, from int, what string) Line {
	x, started := r.Resources[0], int64(0)
	for _, s := range x.Seconds[from:] {
		started += s.Started
	}
	return useLine(fmt.Sprintf("use from %d s on, %s", from, what), float64(started)/float64(x.Rate)/float64(len(x.Seconds)-from))
}

// gotAfter returns how many items each tenant had done by the end, from some second on.
func gotAfter(r model.Result, from int) (got []float64, all float64) {
	for at, point := range r.Curve.Points {
		if time.Duration(at)*time.Duration(r.Curve.Every) < time.Duration(from)*time.Second {
			continue
		}
		for len(got) < len(point) {
			got = append(got, 0)
		}
		for i, n := range point {
			got[i] += float64(n)
			all += float64(n)
		}
	}
	return got, all
}

func failedIn(r model.Result, what string, want float64) Line {
	n := int64(0)
	for _, k := range r.Kinds {
		n += k.Failed
	}
	return atMost(10, "items that failed for good, "+what, float64(n), want, "")
}
