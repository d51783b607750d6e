package experiment

import "github.com/weirhq/weir/internal/core/sched"

// Guest is a tenant that has endless work from one second to another.
type Guest struct {
	Name     string
	Weight   int64 // in terms of an ordinary tenant
	Tier     int
	From, To int
}

// ShareSeries lets tenants share a rate for so many seconds, and returns what each got in
// each second, in items.
func ShareSeries(rate float64, seconds int, guests []Guest) [][]float64 {
	d := newDrive(sched.Options{}, rate)
	got := map[*job][]float64{}
	d.onPick = func(p sched.Pick, j *job) { got[j][(d.Now()-d.start)/sec] += float64(p.Cost) }
	out := make([][]float64, len(guests))
	for i, g := range guests {
		out[i] = make([]float64, seconds+1)
		d.weigh(g.Name, g.Weight*sched.Unit, 0)
		j := d.add(job{tenant: g.Name, tier: g.Tier, items: 1e12, chunk: 100, service: 10 * ms, arrive: int64(g.From) * sec})
		got[j] = out[i]
		d.At(d.start+int64(g.To)*sec, func() { d.remove(j) })
	}
	d.run(int64(seconds) * sec)
	for i := range out {
		out[i] = out[i][:seconds] // what starts as the last second ends is not seen
	}
	return out
}
