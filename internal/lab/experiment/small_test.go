package experiment

import (
	"math"
	"testing"

	"github.com/weirhq/weir/internal/lab/virtual"
)

func TestSizesHaveTheMeanThatIsUsedForTheLoad(t *testing.T) {
	for _, s := range []sizes{heavyTail(1000), heavyTail(floodItems), logUniform(1000), logUniform(10_000)} {
		const n = 1_000_000
		sum, least, most := 0.0, math.Inf(1), 0.0
		for i := range n {
			x := float64(s.draw((float64(i) + 0.5) / n))
			sum, least, most = sum+x, min(least, x), max(most, x)
		}
		// Sizes are whole: a heavy tail, cut down to them, loses up to half an item.
		if got, want := sum/n, s.mean(); math.Abs(got-want) > 0.02*want {
			t.Errorf("mean of %s to %v = %.1f, want %.1f", s.name, s.most, got, want)
		}
		if least < s.least || most > s.most {
			t.Errorf("%s to %v goes from %v to %v", s.name, s.most, least, most)
		}
	}
}

// Alone, a bulk action starts with the burst after idleness, three tasks here, and
// goes on at the rate.
func TestTimeAlone(t *testing.T) {
	a := newAlone(10_000, 100*ms)
	for _, tt := range []struct {
		items int64
		ms    float64
	}{{1, 100}, {300, 100}, {301, 110}, {1000, 170}, {10_000, 1070}, {20_000, 2070}} {
		if got := a.time(tt.items) / 1e6; math.Abs(got-tt.ms) > 0.5 {
			t.Errorf("%d items alone take %.1f ms, want %.0f", tt.items, got, tt.ms)
		}
	}
}

// Plain fair sharing is what it says: beside nine floods a bulk action has a tenth
// of the rate from its first item on.
func TestPlainSharingHasNoCredit(t *testing.T) {
	for _, tt := range []struct {
		name        string
		share       sharing
		least, most float64 // seconds
	}{
		{"plain", plain, 0.9, 1.2},
		{"as it is", asIs, 0.1, 0.3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newBulkRate(10_000, 100*ms, tt.share)
			d.many(9, func(i int) job { return job{tenant: tenantName(i), tier: 2, items: floodItems} })
			j := d.add(job{tenant: "small", tier: 2, items: 1000, arrive: 5 * sec})
			d.run(60 * sec)
			if got := d.took(j) / 1e9; got < tt.least || got > tt.most {
				t.Errorf("1,000 items beside nine floods took %.2f s, want %v to %v", got, tt.least, tt.most)
			}
		})
	}
}

func TestInOrderEverybodyWaitsForTheFloods(t *testing.T) {
	a := newAlone(smallRate, bulkService)
	c := besideFloods{sizes: logUniform(1000), load: 0.2, floods: 2, place: inTier(2), span: 1000 * sec, seed: 1, service: bulkService}
	got := c.inOrder(a)
	if want := len(c.arrivals()); len(got.slow) != want {
		t.Fatalf("%d of %d bulk actions were served", len(got.slow), want)
	}
	var waits []float64
	for i, items := range got.items {
		waits = append(waits, got.slow[i]*a.time(items)/1e9)
	}
	// Two floods take 200 s, and a fifth of the rate is not theirs.
	if p50 := virtual.Quantile(waits, 0.5); p50 < 150 || p50 > 250 {
		t.Errorf("median time = %.0f s, want about 200", p50)
	}
}

func TestOpenArrivalsAreTheLoadThatIsSaid(t *testing.T) {
	const hours = 0.5
	all, rate := openArrivals(1, hours, inAllTiers())
	total, large := 0.0, 0
	for _, x := range all {
		total += float64(x.items)
		if x.items == floodItems {
			large++
		}
	}
	if got := total / (rate * hours * 3600); math.Abs(got-openLoad) > 0.001 {
		t.Errorf("load = %.4f, want %v", got, openLoad)
	}
	if len(all) != openPerHour*hours || large < 2 {
		t.Errorf("%d bulk actions with %d of a million items, want %v and at least 2", len(all), large, openPerHour*hours)
	}
	if last := float64(all[len(all)-1].arrive) / 1e9; math.Abs(last/(hours*3600)-1) > 0.02 {
		t.Errorf("the last one arrives after %.0f s, want about %v", last, hours*3600)
	}
}

// The curves are what the plot is to show: at every size the queue does better than
// plain sharing, and that does better than the order of arrival.
func TestSmallSeries(t *testing.T) {
	curves := SmallSeries()
	for k, p := range curves[0].Points {
		fair, inOrder := curves[1].Points[k], curves[2].Points[k]
		if p.Items != fair.Items || p.Items != inOrder.Items {
			t.Fatalf("sizes of point %d: %d, %d, %d", k, p.Items, fair.Items, inOrder.Items)
		}
		if p.P50 > p.P99 || p.P99 > fair.P99 || fair.P99 > inOrder.P99 {
			t.Errorf("p99 to %d items: %.2f, fair %.2f, in order %.2f, want them in this order", p.Items, p.P99, fair.P99, inOrder.P99)
		}
	}
	if n := len(curves[0].Points); n != 10 {
		t.Errorf("%d points, want 10: to 20 items, 40, ... 10,240", n)
	}
}
