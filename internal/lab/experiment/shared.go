package experiment

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/lab/virtual"
	"github.com/weirhq/weir/store"
)

// shared is E12: sixteen owners share a limit of 10,000 items a second through a store.
// They keep it together, whatever happens, and use it again soon after.
func shared(size Size) []Line {
	lines := overSeeds(seeds(201, sized(size, 3, 10)), func(seed uint64) []Line {
		return slices.Concat(steady(seed), shifts(seed), churn(seed))
	})
	return append(lines, crowded(sized(size, 11_000, Tenants))...)
}

// crowded lets very many tenants on 16 owners share a limit that gives each of them a
// task in 8 s or so, for as long as 20 tasks take. The lightest wait 20 s: no tenant
// waits for so long that it would go ahead of its turn.
func crowded(tenants int) []Line {
	units := int64(tenants) * 100 / 8
	w := newOwners(201, store.Limit{Resource: "r", Units: units, Window: time.Second}, 100, 16, tenants).busyNodes()
	from, before := w.Now(), slices.Clone(w.served)
	w.Run(w.Now() + 160*sec)
	return w.usedWell(from, before, fmt.Sprintf("%d tenants on 16 owners", tenants), "Jain index of %s")
}

// usedWell says that the limit was used and shared since a time.
func (w *owners) usedWell(from int64, before []float64, what, jain string) []Line {
	return []Line{
		atLeast(13, "steady use, "+what, 100*w.use(from, w.Now()), 99, " %"),
		atLeast(13, fmt.Sprintf(jain, what), virtual.Jain(w.perWeight(before)), 0.999, ""),
		w.peakLine(what),
	}
}

// bigLimit is 16 owners and 295 tenants on 10,000 items a second in tasks of 100.
func bigLimit(seed uint64) *owners {
	return newOwners(seed, store.Limit{Resource: "r", Units: 10_000, Window: time.Second}, 100, 16, 295)
}

// busyNodes gives work without end to all nodes, and lets them settle.
func (w *owners) busyNodes() *owners {
	w.limit.Elect(w.delay)
	for _, n := range w.nodes {
		n.set(true)
	}
	w.Run(w.Now() + 10*sec)
	return w
}

func (w *owners) peakLine(what string) Line {
	return peakLine(what, float64(w.peak())/float64(w.limit.Limit.Units))
}

func steady(seed uint64) []Line {
	w := bigLimit(seed).busyNodes()
	from, before := w.Now(), slices.Clone(w.served)
	w.Run(w.Now() + 300*sec)
	return w.usedWell(from, before, "16 owners", "Jain index of 295 tenants, %s")
}

// half turns the work of half of the owners on or off.
func half(on bool) func(*owners) {
	return func(w *owners) {
		for _, n := range w.nodes[:8] {
			n.set(on)
		}
	}
}

// shifts lets demand move, an owner die and the store forget what it knew.
func shifts(seed uint64) (lines []Line) {
	for _, c := range []struct {
		what           string
		before, happen func(*owners)
		want           float64
	}{
		{"half of the owners go idle", func(*owners) {}, half(false), 2.5},
		{"half of the owners return", half(false), half(true), 2.5},
		{"an owner dies", func(*owners) {}, func(w *owners) { w.nodes[3].die() }, 4},
		{"the store forgets its books", func(*owners) {}, func(w *owners) { w.limit.Forget() }, 4},
	} {
		w := bigLimit(seed).busyNodes()
		c.before(w)
		w.Run(w.Now() + 10*sec)
		from := w.Now()
		c.happen(w)
		w.Run(w.Now() + 10*sec)
		lines = append(lines,
			atMost(13, "98.5 % of the rate again, "+c.what, w.back(from, w.Now(), 0.985).Seconds(), c.want, " s"),
			w.peakLine(c.what))
	}
	return lines
}

// churn lets the work of all owners but one come and go.
func churn(seed uint64) (lines []Line) {
	for _, c := range []struct {
		mean int64
		want float64
	}{{60 * sec, 97}, {20 * sec, 95}, {6 * sec, 88}} {
		w := bigLimit(seed).busyNodes()
		for _, n := range w.nodes[1:] {
			n.flap(c.mean, false)
		}
		from := w.Now()
		w.Run(w.Now() + 120*sec)
		what := fmt.Sprintf("owners on and off every %d s", c.mean/sec)
		lines = append(lines,
			atLeast(13, "use, "+what, 100*w.use(from, w.Now()), c.want, " %"),
			w.peakLine(what))
	}
	return lines
}
