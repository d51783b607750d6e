package experiment

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/lab/model"
)

// crew is workers, named by how many tasks a window has while nothing holds them back.
type crew struct {
	name    string
	workers int
	takes   time.Duration
	span    time.Duration
}

func crews() []crew {
	return []crew{
		{"2 tasks a window", 1, 125 * time.Millisecond, 20 * time.Minute},
		{"15 tasks a window", 6, 100 * time.Millisecond, 10 * time.Minute},
		{"100 tasks a window", 16, 40 * time.Millisecond, 3 * time.Minute},
		{"1,000 tasks a window", 40, 10 * time.Millisecond, time.Minute},
	}
}

// sent returns how many calls the crew makes of a downstream that bears everything and refuses some calls by chance.
func (x crew) sent(how string, refuses float64, configured bool, n int) (calls float64) {
	r := api(0, x.takes)
	if configured { // less than they can send: it is in force
		r.Rate = model.Rate(0.8 * float64(x.workers) / x.takes.Seconds())
	}
	r.Flow, r.Downstream.Refusals, r.Downstream.RetryAfter = how, model.Percent(refuses), 1 // it says nothing about the time
	work := onAPI("endless", 10_000_000)
	work.Batch = 1
	for _, seed := range seeds(1401, n) {
		w := place{1, 1}.world(seed, r)
		w.Nodes[0].Slots, w.Workers = x.workers, model.Workers{Min: x.workers, Max: x.workers}
		w.Length, w.BulkActions = model.Span(x.span), []model.BulkAction{work}
		calls += float64(run(w).Resources[0].Calls)
	}
	return calls
}

// atRandom is about refusals that have nothing to do with the rate: it stays what it was.
func atRandom(size Size) (lines []Line) {
	worst := 100.0
	for _, configured := range []bool{false, true} {
		how := "no rate configured"
		if configured {
			how = "a configured rate"
		}
		for _, refuses := range []float64{0.003, 0.015, 0.05} {
			for _, x := range crews() {
				x.span /= sized(size, time.Duration(2), 1)
				kept := func(flow string) float64 { return x.sent(flow, refuses, configured, sized(size, 1, 20)) }
				free := kept(model.FlowOff)
				what := fmt.Sprintf("%v %% refused at random, %s, %s: kept", 100*refuses, x.name, how)
				lines = append(lines, atLeast(15, what, 100*kept(model.FlowOn)/free, 90, " %").missed(
					"few refusals take long to show that they are not about the rate", 80))
				worst = min(worst, 100*kept(model.FlowAIMD)/free)
			}
		}
	}
	return append(lines, atLeast(15, "AIMD instead, worst of the refusals at random: kept", worst, 90, " %"))
}
